// Opens the inspector for a command: its code and page are loaded at the first request.
import { randomBytes } from 'node:crypto'
import { homedir } from 'node:os'
import type { EventFeed, Inspector, InspectorOptions } from '@toolshelf/inspector'
import {
  createBodies,
  createHostAccess,
  INSPECTOR_PATH,
  type InspectorHandler,
} from '@toolshelf/server/internal'
import type { Audit } from '../audit.ts'
import { version } from '../version.ts'

export type OpenInspectorOptions = Pick<
  InspectorOptions,
  'source' | 'path' | 'servers' | 'users' | 'usage' | 'trace'
> & {
  readonly audit: { readonly feed: EventFeed } & Pick<Audit, 'redact'>
  /** The address that the process listens on. */
  readonly address: string
  /** Additional host names that requests may use. */
  readonly hosts?: readonly string[] | undefined
}

/** An inspector behind a command's HTTP server. */
export type OpenedInspector = {
  readonly handle: InspectorHandler
  /** The path to open in a browser, relative to the URL of the server, with the key. */
  readonly place: string
  /** Ends its streams. */
  close(): void
}

/** The command that records events, for pages that have nothing to show yet. */
const RECORDING_ADVICE = 'toolshelf mcp --audit'

const MAX_BODY_BYTES = 1_000_000
const MAX_HELD_BYTES = 8_000_000

/** Opens the inspector, with a new key. */
export function openInspector(opening: OpenInspectorOptions): OpenedInspector {
  const { audit, address, hosts = [], ...options } = opening
  const { source, path } = options
  const bodies = createBodies({ maxBytes: MAX_BODY_BYTES, maxTotalBytes: MAX_HELD_BYTES })
  const key = randomBytes(24).toString('base64url')
  let inspector: Promise<Inspector> | undefined
  const load = async () => {
    const { createInspector } = await import('@toolshelf/inspector')
    const { loadPage } = await import('@toolshelf/inspector/page')
    return createInspector({
      ...options,
      version: version(),
      feed: audit.feed,
      redact: audit.redact,
      advice: source === 'serve' ? 'toolshelf serve --audit' : RECORDING_ADVICE,
      home: homeOrNone(),
      key,
      allowsHost: createHostAccess(address, hosts).allowsHost,
      readBody: bodies.read,
      page: loadPage,
    })
  }
  return {
    place: `${path}#key=${key}`,
    async handle(request) {
      inspector ??= load()
      return (await inspector).handle(request)
    },
    close() {
      void inspector?.then((opened) => opened.close())
    },
  }
}

/** Opens the inspector of a gateway, below its own URL. */
export function openGatewayInspector(options: Omit<OpenInspectorOptions, 'path'>): OpenedInspector {
  return openInspector({ ...options, path: INSPECTOR_PATH })
}

function homeOrNone(): string | undefined {
  try {
    const home = homedir()
    return home.length > 1 ? home : undefined
  } catch {
    return undefined
  }
}
