// The tools that conversations could use, put together from `pool` and `tools` events.
import { textOf } from '@toolshelf/core/internal'
import { amountOf, type EventRecord, stringsOf } from './records.ts'
import type { InspectedTurn } from './turn-types.ts'

/** A tool of a working set. */
export type SetTool = { readonly name: string; readonly server: string; readonly tokens: number | undefined }

/** What the model could see and reach in a turn. */
export type WorkingSet = {
  /** Sent with every request. */
  readonly always: readonly SetTool[]
  /** Put into sight by searches. */
  readonly loaded: readonly SetTool[]
  /** To be found by a search. */
  readonly shelf: readonly SetTool[]
  /** False if the recording does not name the pool: then only `loaded` is known. */
  readonly isComplete: boolean
}

type Part = { readonly immediate: readonly SetTool[]; readonly deferred: readonly SetTool[] }

/** Pools by id. Both kinds of events name their content, so that the order of arrival does not matter. */
export type Pools = {
  add(event: EventRecord): void
  workingSet(turn: Pick<InspectedTurn, 'pool' | 'loaded'>): WorkingSet
  /** The tools of the pool that was reported last. */
  latest(): readonly SetTool[]
}

/** Creates an empty collection. */
export function createPools(): Pools {
  const parts = new Map<string, Part>()
  const pools = new Map<string, { readonly parts: readonly string[]; readonly time: string }>()
  const toolsOf = (id: string, side: keyof Part) =>
    (pools.get(id)?.parts ?? []).flatMap((part) => parts.get(part)?.[side] ?? [])
  return {
    add(event) {
      if (event.type === 'tools') parts.set(textOf(event.id), readPart(event))
      const known = pools.get(textOf(event.id))
      if (event.type === 'pool' && (known?.time ?? '') <= event.time)
        pools.set(textOf(event.id), { parts: stringsOf(event.parts), time: event.time })
    },
    workingSet({ pool, loaded = [] }) {
      const deferred = toolsOf(pool, 'deferred')
      const byName = new Map(deferred.map((tool) => [tool.name, tool]))
      const isLoaded = new Set(loaded)
      return {
        always: toolsOf(pool, 'immediate'),
        loaded: loaded.map((name) => byName.get(name) ?? { name, server: '', tokens: undefined }),
        shelf: deferred.filter(({ name }) => !isLoaded.has(name)),
        isComplete: pools.has(pool),
      }
    },
    latest() {
      const newest = [...pools].reduce<[string, string]>(
        (best, [id, { time }]) => (time > best[1] || (time === best[1] && id > best[0]) ? [id, time] : best),
        ['', ''],
      )
      return [...toolsOf(newest[0], 'immediate'), ...toolsOf(newest[0], 'deferred')]
    },
  }
}

function readPart(event: EventRecord): Part {
  const tokens = Array.isArray(event.tokens) ? event.tokens : []
  const server = textOf(event.server)
  const immediate = stringsOf(event.immediate)
  const toolAt = (name: string, at: number): SetTool => ({ name, server, tokens: amountOf(tokens[at]) })
  return {
    immediate: immediate.map(toolAt),
    deferred: stringsOf(event.deferred).map((name, at) => toolAt(name, immediate.length + at)),
  }
}
