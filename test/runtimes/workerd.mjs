// Answers one request by the worker in a file, in workerd without compatibility flags; prints the answer.
import { readFileSync } from 'node:fs'
import { Miniflare } from 'miniflare'

const script = readFileSync(process.argv[2], 'utf8')
// `cf: false`: miniflare asks nobody where it is.
const worker = new Miniflare({ modules: true, script, compatibilityDate: '2026-07-30', cf: false })
console.log(await (await worker.dispatchFetch('http://localhost/')).text())
await worker.dispose()
