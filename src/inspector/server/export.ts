// Exports recorded events as a file that can be shared: without secrets, content of conversations, and the name of
// the home folder. What was replaced is counted, so that a person sees it before the file leaves.
import type { TraceRecord } from '../../core/index.ts'
import { omitFields, toJson } from '../../lib/index.ts'
import { auditLine } from '../../node/index.ts'
import type { ExportView } from '../api.ts'
import type { InspectorOptions } from './types.ts'

/**
 * Yields the lines of the file.
 * @param conversations - Their ids; all if undefined. Events of no conversation, such as those of servers, always count.
 */
export async function* exportEvents(
  { feed, redact, home }: InspectorOptions,
  conversations: readonly string[] | undefined,
  signal: AbortSignal,
): AsyncGenerator<string, void> {
  const wanted = conversations && new Set(conversations)
  const counted = { secrets: 0, homes: 0, contents: 0 }
  const hide = (text: string) => (home ? redact(text).replaceAll(home, '~') : redact(text))
  /** Counts in the finished line, because texts may be replaced several times before. */
  const exported = (record: TraceRecord) => {
    const line = auditLine(record, { redact: hide })
    const before = toJson(omitFields(record, 'content'))
    counted.secrets += Math.max(0, occurrences(line, HIDDEN) - occurrences(before, HIDDEN))
    if (home) counted.homes += occurrences(before, JSON.stringify(home).slice(1, -1))
    return line
  }
  const head: Omit<ExportView, 'events' | 'redactions'> = { format: 'toolshelf-events', version: 1 }
  yield `${JSON.stringify(head).slice(0, -1)},"events":[`
  let isFirst = true
  for await (const batch of feed.read({ signal, isFollowing: false })) {
    if (!('lines' in batch)) continue
    const lines = batch.lines.flatMap((line) => {
      const record = JSON.parse(line) as TraceRecord & { readonly content?: unknown }
      if (wanted && record.conversation !== undefined && !wanted.has(record.conversation)) return []
      if (record.content !== undefined) counted.contents++
      return [exported(record)]
    })
    if (lines.length === 0) continue
    yield (isFirst ? '\n' : ',\n') + lines.join(',\n')
    isFirst = false
  }
  const redactions: ExportView['redactions'] = [
    { what: 'secrets', count: counted.secrets },
    { what: 'arguments and results', count: counted.contents },
    { what: 'the home folder', count: counted.homes },
  ].filter(({ count }) => count > 0)
  yield `\n],"redactions":${JSON.stringify(redactions)}}`
}

/** What replaces a secret. */
const HIDDEN = '[hidden]'

function occurrences(text: string, part: string): number {
  return text.split(part).length - 1
}
