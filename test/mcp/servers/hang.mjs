// Stops answering: start | initialize | list | page | call | reading (answers, then never reads again) | deaf. Or only
// for a while: busy (reads nothing for a second once `quick` is called; `wait` is answered after that).
import { behaviour, initialized, noAnswer, serve, text, tool } from './wire.mjs'

const isAt = (step) => behaviour === step
const untilKilled = () => setInterval(() => {}, 60_000)

const handlers = {
  'server/discover': isAt('start') ? () => noAnswer : undefined,
  initialize: (params) => (isAt('start') || isAt('initialize') ? noAnswer : initialized(params)),
  'tools/list': list,
  'tools/call': ({ name }) => {
    if (isAt('reading')) stopReading()
    if (isAt('busy')) return name === 'wait' ? waiting.then(() => text('done')) : work()
    return isAt('call') && name === 'wait' ? noAnswer : text('done')
  },
}

let workDone
const waiting = new Promise((resolve) => {
  workDone = resolve
})

/** Answers what it was asked in the meantime, too. */
function work() {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1000)
  setTimeout(workDone, 100)
  return text('done')
}

function list({ cursor }) {
  if (isAt('list') || (isAt('page') && cursor)) return noAnswer
  return { tools: [tool('wait'), tool('quick')], nextCursor: isAt('page') ? 'second' : undefined }
}

/** The pipe fills, and whoever writes to it must not wait for ever. */
function stopReading() {
  process.stdin.removeAllListeners('data')
  process.stdin.pause()
  untilKilled()
}

if (isAt('deaf')) untilKilled()
else serve(handlers)
