// Stops answering: start | initialize | list | page | call | reading (answers, then never reads again) | deaf.
import { behaviour, initialized, noAnswer, serve, text, tool } from './wire.mjs'

const isAt = (step) => behaviour === step
const untilKilled = () => setInterval(() => {}, 60_000)

const handlers = {
  'server/discover': isAt('start') ? () => noAnswer : undefined,
  initialize: (params) => (isAt('start') || isAt('initialize') ? noAnswer : initialized(params)),
  'tools/list': list,
  'tools/call': ({ name }) => {
    if (isAt('reading')) stopReading()
    return isAt('call') && name === 'wait' ? noAnswer : text('done')
  },
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
