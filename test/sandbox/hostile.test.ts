// Malicious scripts: each ends, harms nothing outside of its sandbox, and tells the model what to do.
import { afterEach, describe, expect, it } from 'vitest'
import { createScriptRunner } from '../../packages/scripts/src/runner.ts'
import { remarkAbout } from '../../packages/scripts/src/script-tool.ts'
import type { CallForScript, ScriptLimits } from '../../packages/scripts/src/types.ts'
import { isThorough } from '../../packages/testkit/src/runs.ts'

/** What the tools of a host do; the sandbox sees nothing but the answers. */
const answers: { readonly [tool: string]: (input: { readonly [name: string]: unknown }) => unknown } = {
  'data.echo': (input) => input,
  'data.proto': () => JSON.parse('{"__proto__": {"polluted": true}, "constructor": 1}'),
  'data.huge': () => 'x'.repeat(300_000),
  'data.deep': () => JSON.parse(`${'['.repeat(5000)}${']'.repeat(5000)}`),
}

const call: CallForScript = async ({ path, input }) => {
  const answer = answers[path.join('.')]
  if (!answer) throw new Error(`there is no tool named "${path.join('.')}"`)
  return answer(input)
}

const roomy: Partial<ScriptLimits> = {
  computeMs: 30_000,
  calls: 20,
  inputCharacters: 2000,
  resultCharacters: 200_000,
  outputCharacters: 50_000,
  logCharacters: 500,
}
const runner = createScriptRunner({ limits: roomy, now: () => Date.UTC(2026, 0, 2) })
/** For scripts that take what memory there is. */
const little = { memoryBytes: 24 * 1024 * 1024 }
const small = createScriptRunner({ limits: { ...roomy, ...little } })
/** For scripts that would never end by themselves. */
const strict = createScriptRunner({ limits: { ...roomy, ...little, computeMs: 20 } })

/** A name, a script, and how it ends. */
type Trial = readonly [string, string, RegExp]
/** Variants of others, with TEST_EFFORT above 1: each script takes a tenth of a CPU second. */
const further = (trials: readonly Trial[]) => (isThorough ? trials : [])

const TOO_LONG = /failed: The script was stopped, because it computed for more than 20 ms.*endless loop/
const NO_MEMORY = /failed: .*(out of memory|sandbox|null)/
const NEVER = /failed: The script waits for a promise that nothing will settle/

const endless: readonly Trial[] = [
  ['an endless loop', 'while (true) {}', TOO_LONG],
  ['a flood of microtasks', 'for (;;) await null', TOO_LONG],
  ['a flood that returns first', 'const f = () => { Promise.resolve().then(f) }; f(); return 1', TOO_LONG],
  [
    'memory, again and again',
    'for (;;) try { const a = []; for (;;) a.push(new Uint8Array(1e6)) } catch {}',
    TOO_LONG,
  ],
  ['a return in finally', 'try { for (;;) {} } finally { return "escaped" }', TOO_LONG],
  ['regex backtracking', 'return /(a+)+$/.test("a".repeat(60) + "b")', TOO_LONG],
  ['a proxy in the result', 'return new Proxy({}, { ownKeys() { for (;;) {} } })', TOO_LONG],
  ['a thrown getter', 'throw { get message() { for (;;) {} } }', TOO_LONG],
  ['a getter in an input', 'await tools.data.echo({ get a() { for (;;) {} } })', TOO_LONG],
  ['code behind the end of the function', '})(); for (;;) {} (async () => {', TOO_LONG],
  ['a thenable that calls itself', 'const t = { then(r) { r(t) } }; await t', TOO_LONG],
  ...further([
    ['promises that queue promises', 'const f = () => Promise.resolve().then(f); await f()', TOO_LONG],
    ['a loop in finally', 'try { throw 1 } finally { for (;;) {} }', TOO_LONG],
    ['an endless generator', 'return [...(function* () { for (;;) yield* [] })()]', TOO_LONG],
    [
      'an endless async generator',
      'for await (const x of (async function* () { for (;;) yield 1 })()) x',
      TOO_LONG,
    ],
    ['a comparator that never ends', 'return [3, 1, 2].sort(() => { for (;;) {} })', TOO_LONG],
    ['a getter in the result', 'return { get a() { for (;;) {} } }', TOO_LONG],
    ['toJSON in the result', 'return { toJSON() { for (;;) {} } }', TOO_LONG],
    ['a thrown toString', 'throw { name: { toString() { for (;;) {} } } }', TOO_LONG],
    ['a Symbol.toPrimitive loop', 'return 1 + { [Symbol.toPrimitive]() { for (;;) {} } }', TOO_LONG],
  ]),
]

const greedy: readonly Trial[] = [
  ['typed arrays', 'const a = []; for (;;) a.push(new Uint8Array(1e6))', NO_MEMORY],
  ['one giant buffer', 'return new ArrayBuffer(2 ** 31).byteLength', /failed: /],
  ['a map', 'const a = new Map(); for (let i = 0; ; i++) a.set(i, [i])', NO_MEMORY],
  ['a doubled string', 'let s = "x"; for (;;) s += s', /failed: .*(too long|out of memory)/],
  ['a sparse array', 'const a = []; a[4e9] = 1; return a.length', /returned: 4000000001|failed/],
  ...further([
    ['objects', 'const a = []; for (;;) a.push({ a: {} })', NO_MEMORY],
    ['keys', 'const a = {}; for (let i = 0; ; i++) a["key" + i] = i', NO_MEMORY],
    ['strings', 'const a = []; for (;;) a.push("x".repeat(1e5) + a.length)', NO_MEMORY],
  ]),
]

const tricky: readonly Trial[] = [
  ['recursion', 'const f = () => 1 + f(); return f()', /failed: .*stack overflow.*nested too deeply/],
  ['a cycle in the result', 'const a = {}; a.a = a; return a', /failed: .*circular/],
  ['a function as result', 'return () => 1', /returned: The script returned nothing/],
  [
    '1 MB of output',
    'return "x".repeat(1e6)',
    /failed: .*1000000 characters; 50000 are allowed.*Return less/,
  ],
  ['a promise never settled', 'await new Promise(() => {})', NEVER],
  [
    'polluted prototypes',
    'Object.prototype.toJSON = () => 1; Object.prototype.then = 5; return 2',
    /returned: (1|2)$/,
  ],
  [
    'replaced JSON',
    'JSON.stringify = () => "forged"; JSON.parse = () => "forged"; return (await tools.data.echo({ a: 1 })).a',
    /returned: 1$/,
  ],
  [
    'replaced promises',
    'Promise.prototype.then = () => { throw 1 }; globalThis.Promise = 1; return (await tools.data.echo({ a: 1 })).a',
    /returned: 1$/,
  ],
  ['an error that cannot be read', 'throw { get message() { throw this } }', /failed: .*cannot be read/],
  ['a long error', 'throw new Error("x".repeat(1e6))', /^failed: .{1900,2200}$/],
  ['no syntax', 'return )', /failed: .*SyntaxError.*\(line 1\)/],
  [
    'an unknown tool',
    'await tools.data.nothing({})',
    /failed: .*there is no tool named "data.nothing".*Calls that it made: data.nothing failed/s,
  ],
  [
    'hundreds of calls',
    'let n = 0; for (let i = 0; i < 300; i++) try { await tools.data.echo({}); n++ } catch {} return n',
    /returned: 20$/,
  ],
  [
    'calls all at once',
    'return (await Promise.allSettled(Array.from({ length: 100 }, (_, n) => tools.data.echo({ n })))).filter((r) => r.status === "fulfilled").length',
    /returned: 20$/,
  ],
  ['a console flood', 'for (let i = 0; i < 500; i++) console.log("x".repeat(100)); return 1', /returned: 1$/],
  ...further([
    ['recursion by getters', 'const o = { get a() { return this.a } }; return o.a', /stack overflow/],
    ['a BigInt as result', 'return 10n', /failed: .*(BigInt|bigint)/i],
    ['a symbol as result', 'return Symbol("a")', /returned: The script returned nothing/],
    ['a lone surrogate', 'return "\\ud800"', /returned: /],
    ['1 MB by toJSON', 'return { toJSON: () => "x".repeat(1e6) }', /failed: .*characters; 50000 are allowed/],
    ['a thenable never settled', 'return { then() {} }', NEVER],
    [
      'replaced iterators',
      'Array.prototype[Symbol.iterator] = () => { throw 1 }; return (await tools.data.echo({ a: 1 })).a',
      /returned: 1$/,
    ],
    ['a module', 'return await import("node:fs")', /failed: /],
    [
      'shared memory',
      'return typeof Atomics + new SharedArrayBuffer(8).byteLength',
      /returned: undefined8$|failed/,
    ],
    [
      'weak references',
      'new FinalizationRegistry(() => { for (;;) {} }).register({}, 1); return typeof new WeakRef({}).deref()',
      /returned: (object|undefined)$/,
    ],
    ['a thrown proxy', 'throw new Proxy({}, { get() { throw 1 } })', /failed: .*cannot be read/],
    ['null thrown', 'throw null', /failed: The script failed. null$/],
    [
      'a stack that lies',
      'const e = new Error("a"); e.stack = { toString: 1 }; throw e',
      /failed: .*Error: a/,
    ],
    ['a name with control characters', 'await tools["a\\u001b[2J"].b({})', /failed: .*no tool named/],
    ['a stub changed', '"use strict"; tools.data.echo = 1', /failed: /],
    [
      'calls that are not awaited',
      'for (let n = 0; n < 5; n++) tools.data.echo({ n }); return 1',
      /returned: 1$/,
    ],
  ]),
]

/** Scripts that leave the sandbox as it was: they share one, and each has one of its own with TEST_EFFORT above 1. */
const tidy: readonly Trial[] = [
  [
    'Symbol.species',
    'class A extends Array { static get [Symbol.species]() { return Proxy } } return new A(1, 2).map((x) => x)',
    /failed: /,
  ],
  [
    'eval and Function',
    'return eval("1 + 1") + new Function("return typeof process + typeof require")()',
    /returned: 2undefinedundefined$/,
  ],
  [
    'constructors of constructors',
    'return (async () => {}).constructor("return globalThis.process ?? typeof globalThis.require")()',
    /returned: undefined$/,
  ],
  [
    'constructors of tools',
    'return await tools.constructor.constructor("return process")',
    /failed: .*takes one object/,
  ],
  ['require', 'return require("node:fs")', /failed: .*require/],
  [
    'the network and timers',
    'return [typeof fetch, typeof setTimeout, typeof WebAssembly, typeof Worker].join()',
    /returned: undefined,undefined,undefined,undefined$/,
  ],
  [
    'the time that passes',
    'const a = Date.now(); for (let i = 0; i < 1e5; i++) {} return [Date.now() - a, new Date().toISOString(), new Date().getTimezoneOffset()]',
    /returned: \[0,"2026-01-02T00:00:00.000Z",0\]$/,
  ],
  [
    'forged names',
    'await tools["__proto__"]["constructor"]({})',
    /failed: .*no tool named "__proto__.constructor"/,
  ],
  ['tools replaced', '"use strict"; globalThis.tools = 1', /failed: .*read-only/],
  [
    'tools awaited and printed',
    'return [typeof await tools, typeof await tools.data, JSON.stringify(tools.data) ?? "none"].join()',
    /returned: function,function,none$/,
  ],
  [
    'a huge input',
    'await tools.data.echo({ a: "x".repeat(1e6) })',
    /failed: .*1000008 characters; 2000 are allowed/,
  ],
  [
    'a deep input',
    'let a = []; for (let i = 0; i < 900; i++) a = [a]; return JSON.stringify(await tools.data.echo({ a })).length',
    /returned: 1808$/,
  ],
  ['an input that is no object', 'await tools.data.echo([1])', /failed: .*takes one object/],
  [
    'an input with __proto__',
    'return await tools.data.echo(JSON.parse(\'{"__proto__": {"a": 1}}\'))',
    /returned: \{"__proto__":\{"a":1\}\}$/,
  ],
  [
    'a result with __proto__',
    'await tools.data.proto({}); return String({}.polluted)',
    /returned: undefined$/,
  ],
  [
    'a result too large',
    'return await tools.data.huge({})',
    /failed: .*300002 characters; a script can take 200000/,
  ],
  [
    'a result nested deeply',
    'await tools.data.deep({}); return "ok"',
    /returned: ok$|failed: .*(stack|parse|JSON)/,
  ],
  [
    'a console with hostile values',
    'console.log({ toJSON() { throw 1 } }, new Proxy({}, { get() { throw 1 } })); return 1',
    /returned: 1$/,
  ],
]

afterEach(() => {
  expect(Object.keys(Object.prototype)).toEqual([])
  expect(({} as { polluted?: unknown }).polluted).toBeUndefined()
})

async function ending(script: string, by = runner): Promise<string> {
  const outcome = await by.run(script, call)
  expect(outcome.log.length).toBeLessThan(600)
  const isFailed = outcome.state === 'failed'
  return `${outcome.state}: ${outcome.text}${isFailed && outcome.calls.length > 0 ? `\n${remarkAbout(outcome)}` : ''}`
}

let ended: Promise<{ readonly [name: string]: string }> | undefined

/** The ends of all tidy scripts, by their names. */
function endsOfTidy() {
  const parts = tidy.map(
    ([name, script]) =>
      `try {
        const value = await (async () => { ${script} })()
        ends[${JSON.stringify(name)}] = 'returned: ' + (typeof value === 'string' ? value : JSON.stringify(value))
      } catch (error) { ends[${JSON.stringify(name)}] = 'failed: ' + error.message }`,
  )
  ended ??= ending(`const ends = {}\n${parts.join('\n')}\nreturn ends`).then((text) =>
    JSON.parse(text.replace('returned: ', '')),
  )
  return ended
}

describe('hostile scripts', () => {
  it.each(endless)('without end: %s', async (_, script, told) => {
    expect(await ending(script, strict)).toMatch(told)
  })

  it('without end: a result nested deeply, in code that no interrupt reaches', async () => {
    // In 20 ms a script does not get as far as to return it.
    const patient = createScriptRunner({ limits: { ...roomy, computeMs: 100 } })
    const script = 'let a = []; for (let i = 0; i < 1e5; i++) a = [a]; return a'
    expect(await ending(script, patient)).toMatch(/failed: .*(computed for more than 100 ms|stack overflow)/)
  })

  it.each(greedy)('too much memory: %s', async (_, script, told) => {
    expect(await ending(script, small)).toMatch(told)
  })

  it.each(tricky)('%s', async (_, script, told) => {
    expect(await ending(script)).toMatch(told)
  })

  it.each(tidy)('%s', async (name, script, told) => {
    expect(isThorough ? await ending(script) : (await endsOfTidy())[name]).toMatch(told)
  })

  it('afterwards an ordinary script still runs', async () => {
    expect(await ending('return (await tools.data.echo({ a: [1, 2] })).a')).toBe('returned: [1,2]')
  })
})
