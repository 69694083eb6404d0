// SPDX-License-Identifier: Apache-2.0
// Draws the data of the page: cards, a graph in layers, details of the node that is chosen, a table. Every text of the
// model goes through textContent, so none of it is markup. #selftest at the end of the address clicks through the page
// and leaves what it found in the element `selftest`.
"use strict";

const problem = document.createElement("div");
problem.id = "problem";
document.body.append(problem);
window.onerror = (message, source, line) => { problem.textContent = `Script error, line ${line}: ${message}`; };

const SVG = "http://www.w3.org/2000/svg";
const data = JSON.parse(document.getElementById("data").textContent);
const nodes = data.nodes.map((node, id) => ({...node, id}));

function element(tag, attributes = {}, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes))
        if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
        else made.setAttribute(name, value);
    made.append(...children);
    return made;
}

function svg(tag, attributes = {}, text) {
    const made = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    if (text !== undefined) made.textContent = text;
    return made;
}

const cut = (text, length) => text.length > length ? text.slice(0, length - 1) + "\u2026" : text;
const digits = (value, places) => value.toLocaleString("en-US", {minimumFractionDigits: places, maximumFractionDigits: places});
// An error that is not a finite number is null in the data.
const small = value => value === null || value === Infinity ? "inf" : value === 0 ? "0" : value.toExponential(2);
const most = list => list.reduce((a, b) => Math.max(a, b), -Infinity); // of lists that are too long for arguments
const least = list => list.reduce((a, b) => Math.min(a, b), Infinity);
const isPort = node => node.where === "input" || node.where === "output";

// ---- What differs between the pages ----

const largest = Math.max(1e-9, most(nodes.map(node => node.cost_us || 0)));
const policies = data.policies || [];
const reaching = node => node.errors ? Math.max(...node.errors.map(e => e.output_l2 ?? Infinity)) : null;
const worst = Math.max(1e-30, most(nodes.map(node => reaching(node) || 0).filter(isFinite)));

const report = {
    title: `Where ${data.model} runs`,
    colour: node => node.where,
    shade: node => isPort(node) ? 0.15 : node.descriptors ? 0.2 + 0.8 * Math.sqrt(node.cost_us / largest) : 0.12,
    sub: node => isPort(node) ? node.shape : node.descriptors ? `${digits(node.cost_us, 3)} us` : node.where,
    quiet: node => !isPort(node) && !node.descriptors,
    cards: () => data.estimates.map(e => [`${digits(e.total_us, 1)} us`,
        `${e.machine}, modelled: engine ${digits(e.engine_us, 1)} + dispatch ${digits(e.dispatch_us, 1)}`]).concat([
        [String(nodes.filter(node => !isPort(node)).length), "nodes"],
        [String(nodes.reduce((sum, node) => sum + node.descriptors, 0)), "descriptors"],
        [digits(nodes.reduce((sum, node) => sum + node.weights_bytes, 0), 0), "bytes of constants"]]),
    legend: () => Object.entries(data.places).filter(([, count]) => count).map(([where, count]) => [where, `${where} ${count}`]),
    columns: [
        {head: "us", number: true, value: node => node.cost_us, text: node => node.descriptors ? digits(node.cost_us, 3) : "",
            bar: node => node.cost_us / largest},
        {head: "node", value: node => node.name},
        {head: "kind", value: node => node.kind},
        {head: "where", value: node => node.where, where: true},
        {head: "as; why", value: node => [node.as, node.why].filter(Boolean).join("; ")},
        {head: "descriptors", number: true, value: node => node.descriptors, text: node => node.descriptors || ""},
        {head: "weights", number: true, value: node => node.weights_bytes,
            text: node => node.weights_bytes ? digits(node.weights_bytes, 0) : ""}],
    facts: node => [["kind", node.kind], ["where", node.where], ["as", node.as], ["why", node.why], ["shape", node.shape],
        ["line", node.line ? `${node.line}, column ${node.column}` : ""], ["operations", node.operations || ""],
        ["descriptors", node.descriptors || ""], ["cost", node.descriptors ? `${digits(node.cost_us, 3)} us on an M1 Max, modelled` : ""],
        ["weights", node.weights_bytes ? `${digits(node.weights_bytes, 0)} bytes` : ""]],
};

const counts = ["saturated", "overflowed", "flushed"];
const compare = {
    title: `Where the numbers of ${data.model} are lost`,
    colour: node => isPort(node) ? node.where : node.errors ? "error" : "unmeasured",
    shade: node => {
        const error = reaching(node);

        return error === Infinity ? 1 : error ? Math.min(1, Math.max(0.12, 1 + Math.log10(error / worst) / 2.5)) : 0.1;
    },
    sub: node => isPort(node) ? node.shape : node.errors ? small(reaching(node)) : "not measured",
    quiet: node => !isPort(node) && !node.errors,
    cards: () => data.outputs.flatMap(output => output.errors.map(e => [small(e.relative_l2),
        `${e.policy}, ${output.name}: relative L2; largest ${small(e.max_abs)}, cosine ${e.cosine.toFixed(8)}, ` +
        `top-1 ${e.top1 ? "equal" : "differs"}`])),
    legend: () => [["error", "error that reaches the output: the stronger the colour, the larger"], ["unmeasured", "no arithmetic, or not measured"]],
    columns: [
        {head: "node", value: node => node.name},
        {head: "kind", value: node => node.kind}].concat(policies.flatMap((policy, i) => [
        {head: `reaches output, ${policy}`, number: true, value: node => node.errors ? node.errors[i].output_l2 ?? Infinity : -1,
            text: node => node.errors ? small(node.errors[i].output_l2) : "", sorted: i === 0},
        {head: `added, ${policy}`, number: true, value: node => node.errors ? node.errors[i].added_l2 ?? Infinity : -1,
            text: node => node.errors ? small(node.errors[i].added_l2) : ""},
        {head: `lost, ${policy}`, number: true, value: node => node.errors ? counts.reduce((sum, c) => sum + node.errors[i][c], 0) : -1,
            text: node => node.errors ? counts.reduce((sum, c) => sum + node.errors[i][c], 0) || "" : ""}])),
    facts: node => [["kind", node.kind], ["shape", node.shape], ["line", node.line ? `${node.line}, column ${node.column}` : ""],
        ["note", node.note || ""]].concat((node.errors || []).flatMap((e, i) => [
        [`${policies[i]}: added`, `relative L2 ${small(e.added_l2)}, largest ${small(e.added_max)}`],
        [`${policies[i]}: reaches output`, `relative L2 ${small(e.output_l2)}, largest ${small(e.output_max)}`],
        [`${policies[i]}: lost`, counts.map(c => `${e[c]} ${c}`).join(", ")]])),
};

const view = data.page === "compare" ? compare : report;

// ---- The graph: layers by the longest way from an input ----

const WIDTH = 168, HEIGHT = 38, GAP_X = 22, GAP_Y = 30, WAYPOINTS_MAX = 20000, SWEEPS = 8;

// The edges between visible nodes. A node that is left out hands on what it comes from.
function visibleGraph(collapsed) {
    const shown = nodes.map(node => !(collapsed && view.quiet(node)));
    const sources = nodes.map(() => null);
    const resolve = id => {
        if (!sources[id]) sources[id] = new Set(nodes[id].from.flatMap(from => shown[from] ? [from] : [...resolve(from)]));
        return sources[id];
    };

    for (const node of nodes) resolve(node.id); // operands come first, so this never goes deep
    return nodes.filter(node => shown[node.id]).map(node => ({node, from: [...sources[node.id]]}));
}

// Places, and a chain of waypoints for an edge that passes layers.
function layout(graph) {
    const layers = [], place = new Map(), ways = [];
    let waypoints = 0;
    const put = (item, layer) => { (layers[layer] ||= []).push(item); item.layer = layer; return item; };

    for (const {node, from} of graph) {
        const layer = from.length ? 1 + most(from.map(id => place.get(id).layer)) : 0;
        place.set(node.id, put({node, width: WIDTH, parents: [], children: []}, layer));
    }
    for (const {node, from} of graph)
        for (const id of from) {
            const to = place.get(node.id), way = [place.get(id)], routed = waypoints < WAYPOINTS_MAX;

            for (let layer = way[0].layer + 1; routed && layer < to.layer; layer++, waypoints++)
                way.push(put({width: 14, parents: [], children: []}, layer));
            way.push(to);
            for (let i = 1; i < way.length; i++) { way[i].parents.push(way[i - 1]); way[i - 1].children.push(way[i]); }
            ways.push({from: id, to: node.id, way});
        }
    arrange(layers);
    return {place, ways};
}

// Each item goes towards the middle of its neighbours, and layers are spread so that nothing overlaps.
function arrange(layers) {
    const middle = items => items.reduce((sum, item) => sum + item.x, 0) / items.length;
    const spread = layer => {
        let right = -Infinity, shift = 0;

        layer.sort((a, b) => a.x - b.x);
        for (const item of layer) {
            const wanted = item.x;

            item.x = Math.max(item.x, right + item.width / 2 + (right === -Infinity ? 0 : GAP_X));
            right = item.x + item.width / 2;
            shift += item.x - wanted;
        }
        for (const item of layer) item.x -= shift / layer.length;
    };

    layers.forEach((layer, y) => layer.forEach((item, i) => { item.x = i * 10; item.y = y * (HEIGHT + GAP_Y); }));
    for (let sweep = 0; sweep < SWEEPS; sweep++)
        for (const layer of sweep % 2 ? [...layers].reverse() : layers) {
            for (const item of layer) {
                const near = sweep % 2 ? item.children : item.parents;

                if (near.length) item.x = middle(near);
            }
            spread(layer);
        }
}

function path(way) {
    const at = (item, i) => [item.x, item.node ? item.y + (i === 0 ? HEIGHT : 0) : item.y + HEIGHT / 2];
    let text = `M${at(way[0], 0)}`;

    for (let i = 1; i < way.length; i++) {
        const [x0, y0] = at(way[i - 1], i - 1), [x1, y1] = at(way[i], i), half = (y0 + y1) / 2;

        text += `C${x0},${half},${x1},${half},${x1},${y1}`;
    }
    return text;
}

const graph = {box: null, drawn: new Map(), edges: [], collapsed: nodes.length > 120};

function drawNode(item) {
    const {node} = item, group = svg("g", {class: "node", transform: `translate(${item.x - WIDTH / 2},${item.y})`, "data-id": node.id});
    const colour = `var(--${view.colour(node)})`;

    group.append(svg("rect", {width: WIDTH, height: HEIGHT, rx: 6, fill: "var(--back)"}),
        svg("rect", {width: WIDTH, height: HEIGHT, rx: 6, fill: colour, "fill-opacity": view.shade(node) * 0.8, stroke: colour}),
        svg("text", {x: 8, y: 15, "clip-path": "url(#box)"}, cut(isPort(node) ? node.name : `${node.kind}  ${node.name}`, 32)),
        svg("text", {x: 8, y: 30, class: "sub"}, cut(String(view.sub(node)), 28)),
        svg("title", {}, `${node.kind} ${node.name}\n${node.shape}`));
    group.addEventListener("click", () => choose(node.id, false));
    graph.drawn.set(node.id, {group, item});
    return group;
}

// What a text may fill of its box.
function clip() {
    const made = svg("clipPath", {id: "box"});

    made.append(svg("rect", {width: WIDTH - 4, height: HEIGHT}));
    return made;
}

function drawGraph() {
    const {place, ways} = layout(visibleGraph(graph.collapsed));
    const items = [...place.values()], xs = items.map(item => item.x), ys = items.map(item => item.y);

    graph.drawn.clear();
    graph.edges = ways.map(({from, to, way}) => ({from, to, line: svg("path", {class: "edge", d: path(way)})}));
    graph.svg.replaceChildren(clip(), ...graph.edges.map(edge => edge.line), ...items.map(drawNode));
    graph.extent = {x: least(xs) - WIDTH, y: -20, width: most(xs) - least(xs) + 2 * WIDTH, height: most(ys) + HEIGHT + 40};
    show({...graph.extent});
    if (graph.chosen !== undefined) mark(graph.chosen);
}

function show(box) {
    graph.box = box;
    graph.svg.setAttribute("viewBox", `${box.x} ${box.y} ${box.width} ${box.height}`);
}

// The first nodes at a size that can be read, when the whole graph is too large for that.
function begin() {
    const {clientWidth: width, clientHeight: height} = graph.svg, scale = 0.9, e = graph.extent;
    const first = graph.drawn.values().next().value;

    if (e.height * Math.min(1, scale) > height || e.width > width)
        show({x: (first ? first.item.x : e.x + e.width / 2) - width / scale / 2, y: e.y, width: width / scale, height: height / scale});
}

function zoom(factor, x, y) {
    const {box} = graph, r = graph.svg.getBoundingClientRect(), size = Math.max(box.width / r.width, box.height / r.height);
    const at = [box.x + box.width / 2 + (x - r.width / 2) * size, box.y + box.height / 2 + (y - r.height / 2) * size];

    show({x: at[0] + (box.x - at[0]) * factor, y: at[1] + (box.y - at[1]) * factor, width: box.width * factor, height: box.height * factor});
}

function movable(target) {
    let last = null;

    target.addEventListener("wheel", event => {
        const r = target.getBoundingClientRect();

        event.preventDefault();
        zoom(event.deltaY > 0 ? 1.15 : 1 / 1.15, event.clientX - r.left, event.clientY - r.top);
    }, {passive: false});
    target.addEventListener("pointerdown", event => { last = [event.clientX, event.clientY]; });
    window.addEventListener("pointerup", () => { last = null; });
    window.addEventListener("pointermove", event => {
        const {box} = graph, r = target.getBoundingClientRect(), size = Math.max(box.width / r.width, box.height / r.height);

        if (!last) return;
        show({...box, x: box.x - (event.clientX - last[0]) * size, y: box.y - (event.clientY - last[1]) * size});
        last = [event.clientX, event.clientY];
    });
}

function makeGraph() {
    const quiet = nodes.filter(view.quiet).length;
    const box = element("input", {type: "checkbox", id: "collapse", onchange: () => { graph.collapsed = box.checked; drawGraph(); }});
    const tools = element("div", {class: "tools"}, element("button", {onclick: () => show({...graph.extent})}, "whole graph"),
        element("button", {onclick: () => zoom(0.8, graph.svg.clientWidth / 2, graph.svg.clientHeight / 2)}, "+"),
        element("button", {onclick: () => zoom(1.25, graph.svg.clientWidth / 2, graph.svg.clientHeight / 2)}, "\u2212"));

    box.checked = graph.collapsed;
    if (quiet) tools.append(element("label", {}, box, ` leave out ${quiet} without descriptors`));
    if (quiet && view === compare) tools.lastChild.lastChild.textContent = ` leave out ${quiet} that were not measured`;
    graph.svg = svg("svg", {role: "img", "aria-label": "graph of the model"});
    movable(graph.svg);
    return element("div", {id: "graph"}, graph.svg, tools);
}

// ---- Details and table ----

const details = element("div", {id: "details"});
const table = element("div", {id: "table"});
const order = {column: 0, up: false};

function link(id) {
    return element("button", {class: "link", onclick: () => choose(id, true)}, nodes[id].name);
}

function links(ids) {
    return ids.flatMap((id, i) => i ? [", ", link(id)] : [link(id)]);
}

function mark(id) {
    for (const [other, {group}] of graph.drawn) group.classList.toggle("chosen", other === id);
    for (const edge of graph.edges) edge.line.classList.toggle("near", edge.from === id || edge.to === id);
    for (const row of table.querySelectorAll("tbody tr")) row.classList.toggle("chosen", Number(row.dataset.id) === id);
}

function choose(id, centre) {
    const node = nodes[id], list = element("dl"), users = nodes.filter(other => other.from.includes(id)).map(other => other.id);
    const add = (name, ...value) => { if (value.length && value[0] !== "") list.append(element("dt", {}, name), element("dd", {}, ...value)); };

    for (const [name, value] of view.facts(node)) add(name, String(value));
    if (node.into !== undefined) add("into", link(node.into));
    add("reads", ...links(node.from));
    add("read by", ...links(users));
    details.replaceChildren(element("h2", {}, node.name), list);
    graph.chosen = id;
    mark(id);
    if (centre && graph.drawn.has(id)) {
        const {item} = graph.drawn.get(id), {box} = graph;

        show({...box, x: item.x - box.width / 2, y: item.y - box.height / 2});
    }
}

function cell(column, node) {
    const made = element("td", {class: column.number ? "number" : column.where ? "where" : column.head === "as; why" ? "why" : "name"},
        String(column.text ? column.text(node) : column.value(node)));

    if (column.where) made.style.color = `var(--${node.where})`;
    if (column.bar && node.descriptors) {
        const bar = element("span", {class: "bar"});

        bar.style.width = `${Math.max(1, 100 * column.bar(node))}%`;
        made.append(bar);
    }
    return made;
}

function drawTable() {
    const column = view.columns[order.column], sign = order.up ? 1 : -1;
    const rows = nodes.filter(node => !isPort(node) || node.descriptors).sort((a, b) => {
        const x = column.value(a), y = column.value(b);

        return sign * (x < y ? -1 : x > y ? 1 : 0) || a.id - b.id;
    });
    const heads = view.columns.map((c, i) => element("th", {class: `${c.number ? "number" : ""} ` +
        (i === order.column ? `sorted${order.up ? " up" : ""}` : ""), onclick: () => sortBy(i)}, c.head));

    table.replaceChildren(element("table", {}, element("thead", {}, element("tr", {}, ...heads)),
        element("tbody", {}, ...rows.map(node => element("tr", {"data-id": node.id, onclick: () => choose(node.id, true)},
            ...view.columns.map(c => cell(c, node)))))));
    if (graph.chosen !== undefined) mark(graph.chosen);
}

// Numbers begin with the largest, words with the first.
function sortBy(i) {
    order.up = i === order.column ? !order.up : !view.columns[i].number;
    order.column = i;
    drawTable();
}

function draw() {
    const header = element("header", {}, element("h1", {}, view.title),
        element("div", {class: "cards"}, ...view.cards().map(([value, what]) => element("div", {class: "card"}, element("b", {}, value),
            element("span", {}, what)))),
        element("div", {class: "legend"}, ...view.legend().map(([colour, text]) => {
            const sample = element("i");

            sample.style.background = `var(--${colour})`;
            return element("span", {}, sample, text);
        })));

    if (data.inputs) header.append(element("div", {class: "legend"}, `inputs: ${data.inputs}`));
    document.title = view.title;
    order.column = Math.max(0, view.columns.findIndex(c => c.sorted));
    document.body.prepend(header, element("main", {}, makeGraph(), element("div", {id: "side"}, details, table)));
    drawGraph();
    begin();
    drawTable();
    const first = table.querySelector("tbody tr");
    if (first) choose(Number(first.dataset.id), false);
}

// ---- The page tries itself ----

function selftest() {
    const found = {checks: 0, failures: []};
    const check = (what, good) => { found.checks++; if (!good) found.failures.push(what); };
    const click = target => target.dispatchEvent(new MouseEvent("click", {bubbles: true}));
    const heading = () => details.querySelector("h2").textContent;
    const rows = () => [...table.querySelectorAll("tbody tr")];

    check("every node has a box", graph.collapsed || graph.drawn.size === nodes.length);
    for (const [id, {group}] of [...graph.drawn].slice(0, 50)) {
        click(group);
        check(`a click on box ${id} shows it`, heading() === nodes[id].name && group.classList.contains("chosen"));
    }
    for (const row of rows().slice(0, 50)) {
        click(row);
        check(`a click on row ${row.dataset.id} shows it`, heading() === nodes[row.dataset.id].name);
    }
    for (const head of [...table.querySelectorAll("th")].keys()) {
        const values = () => rows().map(row => view.columns[head].value(nodes[row.dataset.id]));

        click(table.querySelectorAll("th")[head]);
        const once = values(), up = order.up;
        check(`column ${head} is sorted`, once.every((value, i) => !i || (up ? once[i - 1] <= value : once[i - 1] >= value)));
    }
    const boxes = () => [...graph.drawn.values()].map(({item}) => item), before = graph.collapsed;
    for (const collapsed of [true, false]) {
        graph.collapsed = collapsed;
        drawGraph();
        const seen = new Set(boxes().map(item => `${Math.round(item.x)},${item.y}`));
        check(`no two boxes have one place, collapsed ${collapsed}`, seen.size === boxes().length);
    }
    graph.collapsed = before;
    drawGraph();
    const width = graph.box.width;
    zoom(0.5, 10, 10);
    check("zoom", Math.abs(graph.box.width - width / 2) < 1e-6);
    check("no script error", problem.textContent === "");
    order.column = Math.max(0, view.columns.findIndex(c => c.sorted));
    order.up = false;
    drawTable();
    document.body.append(element("pre", {id: "selftest", hidden: ""}, JSON.stringify({...found, boxes: graph.drawn.size, rows: rows().length})));
}

draw();
if (location.hash === "#selftest") selftest();
