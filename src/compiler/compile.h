/* SPDX-License-Identifier: Apache-2.0 */
/* From a network's file to a bundle on disk, by way of the cache. */
#ifndef COMPILER_COMPILE_H
#define COMPILER_COMPILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/signing.h"
#include "compiler/weights.h"

struct cc_binding; /* compiler/onnx/onnx.h */
struct cc_graph;   /* compiler/graph/graph.h */

#define CC_MODEL_NAME_BYTES 64u /* the NUL included; chosen */

struct cc_bundle;

/*
 * A segment of a composite. Its ports are inputs, then outputs; `wire` has a number for each. A wire is an
 * input of the model or an output of one segment, and any number of segments after it may read it.
 */
struct cc_part {
    struct cc_bundle *program; /* on the engine; NULL: on the host */
    uint8_t *graph;            /* on the host: a graph, for cc_host_open (compiler/host.h) */
    size_t graph_bytes;
    uint32_t ports;
    uint32_t *wire;
};

/*
 * A bundle in memory, checked: its three files as bytes. main.e5 and weights.bin are what program create
 * takes. A composite has neither: it has segments, which run one after the other.
 */
struct cc_bundle {
    char *path;     /* the folder that has it; NULL: none */
    char *manifest; /* manifest.json, with a NUL after it */
    uint8_t *main;  /* main.e5 */
    size_t main_bytes;
    uint8_t *weights; /* weights.bin; NULL: none, or in weights_file */
    size_t weights_bytes;
    /*
     * Large weights of a bundle that was read stay in their file: a descriptor of it, 0: none. It was checked
     * as every byte is (but see cc_bundle_read_signed), and another process may write to it later.
     */
    int weights_file;
    char model[CC_MODEL_NAME_BYTES]; /* the file that it was compiled from, without folder; may be empty */
    struct base_hashes hashes;       /* of main.e5 and weights.bin */
    bool is_signed;                  /* bundles of earlier versions are not */
    struct base_signature signature;
    uint32_t parts; /* 0: not a composite */
    struct cc_part *part;
    uint32_t inputs, outputs; /* of the model */
    uint32_t *wire;           /* of each of them, inputs first */
};

struct cc_placement;

struct cc_report {
    bool hit;            /* the cache had it */
    uint64_t compile_ns; /* wall time */
    uint32_t operations, descriptors;
    uint64_t weights_bytes, intermediate_bytes;
    uint32_t engine_segments, host_segments; /* 0 and 0: not a composite */
    bool refused;              /* the engine cannot run all of it: allow_fallback may compile it */
    char key[65];              /* SHA-256 of graph, weights and options, hexadecimal */
    struct base_error trouble; /* why the cache was not used, in one sentence; empty when it was */
    struct cc_placement
        *placement; /* compiler/report/placement.h, for its destructor; NULL unless asked for */
    struct cc_weights_report *weights; /* for its destructor; NULL for fp16, and of a bundle */
};

struct cc_options {
    const char *cache; /* folder; NULL: $XDG_CACHE_HOME/anemone, else $HOME/.cache/anemone */
    bool force;        /* compile even on a hit */
    bool look;         /* do not compile: -ENODATA when the cache does not have it */
    bool report;       /* with the placement of every node */
    /* What the engine cannot run becomes host segments of a composite (fallback.h). */
    bool allow_fallback;
    enum cc_weights weights; /* of a model; a bundle has its own, a composite is never sparse */
    /*
     * The bundle is not signed, and no key is read or made: for a compiler whose caller signs. The cache then
     * is one of such bundles. A bundle that is given goes into it too, under the key of its contents: that
     * of its manifest is what its maker says.
     */
    bool leave_unsigned;
    /* Also write the bundle here; NULL: no. A bundle that is there is replaced, anything else refused. */
    const char *output;
    /* Of inputs of an ONNX model: shapes that it leaves open, and inputs that are constants. */
    const struct cc_binding *bindings;
    uint32_t binding_count;
};

/*
 * A .mil or .onnx file as a checked graph, for cc_graph_destroy. 0, or a negative errno and one sentence.
 */
int cc_model_read(const char *model, const struct cc_binding *bindings, uint32_t binding_count,
                  struct cc_graph **graph, struct base_error *error);

/*
 * MODEL is a .mil or .onnx file or a bundle folder. 0 and a bundle; or a negative errno and one sentence.
 * The cache only saves time: when it cannot be read or written the bundle is in memory alone, and
 * report->trouble says why.
 */
int cc_compile(const char *model, const struct cc_options *options, struct cc_bundle *bundle,
               struct cc_report *report, struct base_error *error);
/*
 * 1: the model is a bundle, or the cache has its program. 0: it has to be compiled, also when the cache
 * cannot be read. Negative: there is no such model, and one sentence.
 */
int cc_compile_find(const char *model, const struct cc_options *options, struct base_error *error);
/* Reads NAME.bundle: manifest hashes, FlatBuffer structure, record contents. Every byte is checked. */
int cc_bundle_read(const char *path, struct cc_bundle *bundle, struct base_error *error);
/*
 * The same for a caller who hands the bundle to a driver that checks it: of a signed one, weights that stay
 * in their file are not hashed here. The signature says which hash they have to have.
 */
int cc_bundle_read_signed(const char *path, struct cc_bundle *bundle, struct base_error *error);
void cc_bundle_release(struct cc_bundle *bundle);
/* Weights that are in a file come into memory, checked again. */
int cc_bundle_weights(struct cc_bundle *bundle, struct base_error *error);
/*
 * Writes the weights to a place of a file. Of weights in a file the copy is not checked: for a reader who
 * checks what he gets, as the driver and cc_bundle_read do. 0 or a negative errno.
 */
int cc_bundle_put_weights(const struct cc_bundle *bundle, int file, uint64_t at);

/* The cache: entries by key, newest use first. Anything with the name of a key counts as an entry. */
struct cc_cache_entry {
    char key[65];
    uint64_t bytes;
    int64_t used;                    /* seconds since the epoch */
    int64_t used_ns;                 /* and nanoseconds */
    char model[CC_MODEL_NAME_BYTES]; /* the first that was compiled to it; empty: not known */
};
int cc_cache_folder(const char *wanted, char *path, size_t capacity, struct base_error *error);
/* Fills up to `capacity` entries; returns how many there are, or a negative errno. */
long cc_cache_list(const char *cache, struct cc_cache_entry *entries, size_t capacity,
                   struct base_error *error);
/*
 * The program of a key from a cache of bundles that are not signed (leave_unsigned), checked as
 * cc_bundle_read does: 1, with the report of its bundle (operations: 0, only a compilation counts them). 0:
 * it is not there, or was broken and is removed. Negative: cannot be read, or `key` is not a key.
 */
int cc_cache_read(const char *cache, const char *key, struct cc_bundle *bundle, struct cc_report *report,
                  struct base_error *error);
int cc_cache_remove(const char *cache, const char *key, struct base_error *error); /* NULL key: all */
/* Removes least recently used entries until at most `bytes` are kept, and what ended processes left. */
int cc_cache_trim(const char *cache, uint64_t bytes, struct base_error *error);
#define CC_CACHE_BYTES_DEFAULT  (2ull << 30)
#define CC_CACHE_BYTES_VARIABLE "ANEMONE_CACHE_BYTES"
/* A number of bytes, with a suffix K, M or G or without; false when the text is not one. */
bool cc_cache_bytes(const char *text, uint64_t *bytes);
/*
 * What the cache is trimmed to after a compilation: ANEMONE_CACHE_BYTES, or the default. When the variable is
 * not a number of bytes the default holds, with a sentence.
 */
uint64_t cc_cache_limit(struct base_error *error);

#endif
