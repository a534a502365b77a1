// Reads the process's events into the model, and reconnects after a lost connection.
import { parseJson } from '@toolshelf/core/internal'
import { endpoints } from '../../api.ts'
import { type EventRecord, readEvent } from '../../model/records.ts'
import { type App, isRefusedKey } from './state.ts'

/** Milliseconds of work before yielding, so that the browser can draw and handle input. */
const MAX_SLICE_MS = 12
const FIRST_PAUSE_MS = 500
const MAX_PAUSE_MS = 10_000
/** Milliseconds between two updates of the page while events arrive. */
const UPDATE_PAUSE_MS = 100
/** How soon lists are fetched again after an event that changes them. */
const REFRESH_PAUSE_MS = 400

/** Follows the events until the process says that no new ones will come. */
export async function followEvents(app: App): Promise<void> {
  if (app.state().about.value?.can.conversations === false) return app.change({ connection: 'hidden' })
  const follower = createFollower(app)
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(MAX_PAUSE_MS, pause * 2)) {
    const before = app.state().received
    const outcome = await follower.read()
    if (outcome !== 'lost') return
    if (app.state().received > before) pause = FIRST_PAUSE_MS
    await wait(pause)
  }
}

function createFollower(app: App) {
  const { live } = app.state()
  let newest = ''
  let isCaughtUp = false
  const refreshServers = debounced(() => void app.refresh('servers', 'tools'), REFRESH_PAUSE_MS)

  const take = (line: string) => {
    const value = parseJson(line) as (EventRecord & { skipped?: number; broken?: number }) | undefined
    if (value?.type === 'caught-up') {
      isCaughtUp = true
      const isLive = app.state().about.value?.recording.isLive !== false
      // Changes of these lists during the interruption are not among the events.
      if (app.state().connection === 'lost') void app.refresh('about', 'servers', 'tools')
      app.change({
        left: { skipped: value.skipped ?? 0, broken: value.broken ?? 0 },
        connection: isLive ? 'live' : 'ended',
      })
      return
    }
    const event = readEvent(value)
    if (!event) return
    live.add(event, line.length)
    if (event.time > newest) newest = event.time
    if (isCaughtUp && (event.type === 'server' || event.type === 'pins')) refreshServers()
  }
  // Recorded events arrive in thousands of chunks: the page is drawn for some of them.
  let [received, isDue] = [0, true]
  const update = () => {
    if (!isDue) return
    isDue = false
    setTimeout(() => {
      isDue = true
      app.change({ received })
    }, UPDATE_PAUSE_MS)
  }
  const takeAll = async (lines: string[]) => {
    let until = performance.now() + MAX_SLICE_MS
    for (const line of lines) {
      take(line)
      if (performance.now() < until) continue
      await turn()
      until = performance.now() + MAX_SLICE_MS
    }
    received += lines.length
    update()
  }
  return {
    async read(): Promise<'ended' | 'lost' | 'locked'> {
      // A lost connection counts as lost until it is back.
      if (app.state().connection !== 'lost') app.change({ connection: 'reading' })
      const path =
        newest === '' ? endpoints.events : `${endpoints.events}?since=${encodeURIComponent(newest)}`
      isCaughtUp = false
      try {
        await app.client.lines(path, takeAll, new AbortController().signal)
      } catch (error) {
        if (isRefusedKey(error)) {
          app.change({ connection: 'locked' })
          return 'locked'
        }
      }
      const isOver = isCaughtUp && app.state().about.value?.recording.isLive === false
      app.change({ connection: isOver ? 'ended' : 'lost' })
      return isOver ? 'ended' : 'lost'
    },
  }
}

/** Lets the browser do other work; a timer would wait for four milliseconds each time. */
function turn(): Promise<void> {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel()
    port1.onmessage = () => {
      port1.close()
      resolve()
    }
    port2.postMessage(undefined)
  })
}

function wait(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds))
}

function debounced(run: () => void, milliseconds: number): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined
  return () => {
    clearTimeout(timer)
    timer = setTimeout(run, milliseconds)
  }
}
