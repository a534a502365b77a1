// `toolshelf doctor --html`: the inspector's pages as one file, with what the doctor found.
import { findingsOf, moneyLines, type Report, shelfOf } from '../../doctor/index.ts'
import type { InspectedServers, PageFiles, PageSnapshot } from '../../inspector/index.ts'
import { count, counted, harmlessData, percent } from '../../terminal/index.ts'
import { RECORDING_ADVICE } from '../gateway/index.ts'
import { version } from '../version.ts'

/** Options of `doctorPage`. */
export type DoctorPageOptions = {
  readonly host: Pick<InspectedServers['host'], 'status'>
  readonly pins?: InspectedServers['pins']
  readonly onChange: InspectedServers['onChange']
  readonly untrusted: InspectedServers['untrusted']
  /** The command to run next, or a note that there is none. */
  readonly next: string
  readonly time: Date
  /** The bundled page. */
  readonly page?: PageFiles
}

/** Renders the page as one HTML file. */
export async function doctorPage(report: Report, options: DoctorPageOptions): Promise<string> {
  const { loadPage, renderSnapshot } = await import('../../inspector/index.ts')
  return renderSnapshot(await snapshotOf(report, options), options.page ?? (await loadPage()))
}

async function snapshotOf(report: Report, options: DoctorPageOptions): Promise<PageSnapshot> {
  const { serverViews, toolViews } = await import('../../inspector/index.ts')
  const { host, pins, onChange, untrusted, time } = options
  const shown = {
    host: { status: () => host.status() },
    shelf: shelfOf(host.status()),
    onChange,
    pins,
    untrusted,
  }
  const harmless = harmlessData(report)
  return {
    about: {
      version: version(),
      source: 'snapshot',
      can: { conversations: true, search: false, manageServers: false, saveHints: false },
      recording: { files: [], isLive: false, advice: RECORDING_ADVICE },
      rankers: [],
      window: report.total.window,
    },
    servers: await serverViews(shown),
    tools: toolViews(shown),
    events: [],
    time: time.toISOString(),
    notes: [...headlines(harmless), `Next: ${options.next}`],
    findings: findingsOf(harmless).map(({ server, remedy, ...finding }) => ({
      ...finding,
      server: server ?? null,
      remedy: remedy ?? null,
    })),
  }
}

function headlines({ total, projection, arithmetic, method }: Report): string[] {
  const { tools, tokens, share, window, tokensSavedPerRequest } = total
  if (tools === 0) return ['No server lists any tools.']
  return [
    `About ${count(tokens)} tokens of tool definitions travel with every request: ${percent(share)} of a window of ${count(window)} tokens, before anyone has asked anything.`,
    `Through toolshelf mcp it would be ${count(total.withDeferral)}, with the library ${count(total.withLibrary)}: ${count(tokensSavedPerRequest)} saved per request, until something is searched for.`,
    ...(projection
      ? [
          `In ${projection.requests} requests ${count(projection.tokensSaved)} tokens are saved, with ${counted(projection.extraRoundTrips, 'extra round trip')}.`,
          ...moneyLines(projection),
        ]
      : []),
    arithmetic,
    method,
  ]
}
