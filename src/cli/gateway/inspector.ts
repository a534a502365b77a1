// Opens the inspector for a command: its code and page are loaded at the first request.
import { randomBytes } from 'node:crypto'
import { homedir } from 'node:os'
import type { EventFeed } from '../../inspector/events/index.ts'
import type { InspectedServers, Inspector, InspectorOptions } from '../../inspector/index.ts'
import { INSPECTOR_PATH, type InspectorHandler, LOOPBACK } from '../../node/index.ts'
import type { Audit } from '../events/index.ts'
import { version } from '../version.ts'

/** Options of `openInspector`. */
export type OpenInspectorOptions = Pick<
  InspectorOptions,
  'source' | 'address' | 'hosts' | 'notify' | 'path'
> & {
  readonly audit: { readonly feed: EventFeed } & Pick<Audit, 'redact'>
  /**
   * The key of clients. Beyond loopback it also opens the page; on loopback, a key that this process generates and
   * prints does.
   */
  readonly clientKey?: string | undefined
  /** Users of the gateway may be operators, whose own keys open the page. Default: false. */
  readonly hasUsers?: boolean | undefined
  /** `isOperator`: the holder of the page's key started this process. */
  readonly servers?: ((isOperator: boolean) => InspectedServers) | undefined
}

/** An inspector behind a command's HTTP server. */
export type OpenedInspector = {
  readonly handle: InspectorHandler
  /** The path to open in a browser, relative to the URL of the server. */
  readonly place: string
  /** Ends its streams. */
  close(): void
}

/** The command that records events, for pages that have nothing to show yet. */
export const RECORDING_ADVICE = 'toolshelf mcp --audit'

/**
 * Opens the inspector. Returns undefined beyond loopback without a key and users: there the page would be open to
 * everybody.
 */
export function openInspector(options: OpenInspectorOptions): OpenedInspector | undefined {
  const { address, clientKey, hasUsers, audit, servers, path, source, hosts, notify } = options
  const isLocal = LOOPBACK.has(address)
  const ownKey = isLocal || hasUsers ? randomBytes(24).toString('base64url') : undefined
  const key = isLocal ? ownKey : (clientKey ?? ownKey)
  if (!key) return undefined
  let inspector: Promise<Inspector> | undefined
  const load = async () => {
    const { createInspector, loadPage } = await import('../../inspector/index.ts')
    return createInspector({
      version: version(),
      source,
      feed: audit.feed,
      redact: audit.redact,
      advice: source === 'serve' ? 'toolshelf serve --audit' : RECORDING_ADVICE,
      servers: servers?.(isLocal),
      home: homeOrNone(),
      key,
      path,
      address,
      hosts,
      notify,
      page: loadPage,
    })
  }
  return {
    place: isLocal ? `${path}#key=${key}` : path,
    async handle(request, network, isOperator) {
      inspector ??= load()
      return (await inspector).handle(request, network, isOperator)
    },
    close() {
      void inspector?.then((opened) => opened.close())
    },
  }
}

/** Opens the inspector of a gateway, below its own URL. */
export function openGatewayInspector(
  options: Omit<OpenInspectorOptions, 'path'>,
): OpenedInspector | undefined {
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
