// Answers requests by the worker in a file, in workerd without compatibility flags; prints an answer.
import { deepStrictEqual } from 'node:assert'
import { readFileSync } from 'node:fs'
import { Miniflare } from 'miniflare'

const script = readFileSync(process.argv[2], 'utf8')
// `cf: false`: miniflare asks nobody where it is.
const worker = new Miniflare({ modules: true, script, compatibilityDate: '2026-07-30', cf: false })
const answer = async () => (await worker.dispatchFetch('http://localhost/')).json()
// A worker may not wait for what another request began.
const [first, second] = await Promise.all([answer(), answer()])
deepStrictEqual(second, first)
deepStrictEqual(await answer(), first)
console.log(JSON.stringify(first))
await worker.dispose()
