// SPDX-License-Identifier: Apache-2.0
// Warm runs of a model with onnxruntime-node, as JSON: node onnxruntime.js MODULES MODEL THREADS COUNT
'use strict';
const fs = require('fs');
const path = require('path');
const resident_kib = () => Number(/VmHWM:\s*(\d+)/.exec(fs.readFileSync('/proc/self/status', 'latin1'))[1]);
const bare_kib = resident_kib();
const [modules, model, threads, count] = process.argv.slice(2);
const ort = require(path.join(modules, 'onnxruntime-node'));

function made_up(dims) {
  const data = new Float32Array(dims.reduce((a, b) => a * b, 1));
  for (let i = 0; i < data.length; i++) data[i] = ((Math.imul(i, 2654435761) >>> 16) & 255) / 256;
  return new ort.Tensor('float32', data, dims);
}

async function main() {
  const begin = process.hrtime.bigint();
  const session = await ort.InferenceSession.create(model, {
    intraOpNumThreads: Number(threads), interOpNumThreads: 1, executionMode: 'sequential',
    graphOptimizationLevel: 'all', executionProviders: ['cpu'],
  });
  const load_ms = Number(process.hrtime.bigint() - begin) / 1e6;
  const feeds = {};
  for (const input of session.inputMetadata) feeds[input.name] = made_up(input.shape.map(Number));
  const times = [];
  for (let i = -2; i < Number(count); i++) {
    const before = process.hrtime.bigint();
    await session.run(feeds);
    if (i >= 0) times.push(Number(process.hrtime.bigint() - before) / 1e3);
  }
  times.sort((a, b) => a - b);
  console.log(JSON.stringify({
    runs: times.length, load_ms, min_us: times[0], p50_us: times[Math.floor(times.length / 2)],
    peak_resident_kib: resident_kib(), bare_kib,
    version: require(path.join(modules, 'onnxruntime-node', 'package.json')).version,
  }));
}

main().catch((error) => { console.error(String(error)); process.exit(1); });
