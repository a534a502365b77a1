// The options of `mcp --http` for access tokens of identity providers.
import { LOOPBACK, OptionError } from '../../node/index.ts'
import type { People, Profile } from '../../users/index.ts'
import type { TokenAccess } from '../../users/oauth/index.ts'
import { CommandError, type Input, type Option, UsageError, urlIn } from '../command.ts'

/** Names and descriptions of the options. */
export const oauthOptions: { readonly [name: string]: Option } = {
  'public-url': {
    type: 'string',
    value: 'url',
    about: 'with --http: URL under which clients reach it, such as https://tools.example.com',
  },
  'oauth-issuer': {
    type: 'string',
    value: 'url',
    isMultiple: true,
    about: 'with --http: accept access tokens of this identity provider',
  },
  'oauth-audience': {
    type: 'string',
    value: 'text',
    about: '"aud" that these tokens must have (default: the public URL with /mcp)',
  },
}

/** What else `openTokens` needs. */
export type TokenSources = {
  /** The section `oauth` of the users file; undefined if there is none. */
  readonly section: unknown
  readonly profileNamed: (name: string) => Promise<Profile | undefined>
  /** The users whom the operator named as owners of tokens. */
  readonly people: People | undefined
  /** The URL at which the gateway listens, known once it does. */
  readonly servedUrl: () => string
  /** Where the gateway listens. */
  readonly address: string
  readonly notify: (message: string) => void
}

/**
 * Opens the check of access tokens; returns undefined if neither the options nor the users file names an issuer.
 */
export async function openTokens(input: Input, sources: TokenSources): Promise<TokenAccess | undefined> {
  const issuers = input.texts('oauth-issuer')
  const audience = input.text('oauth-audience')
  const publicUrl = publicUrlIn(input)
  if (issuers.length === 0 && sources.section === undefined) {
    if (audience !== undefined) throw new UsageError('--oauth-audience requires --oauth-issuer.')
    return undefined
  }
  if (publicUrl === undefined && !LOOPBACK.has(sources.address))
    throw new UsageError(
      'access tokens are bound to the URL of the gateway; pass the URL that clients use with --public-url.',
    )
  const { createTokenAccess, readOAuthSettings } = await import('../../users/oauth/index.ts')
  const { profileNamed, people, servedUrl, notify } = sources
  const settings = readSettings(() => readOAuthSettings(sources.section, { issuers, audience }))
  const resource = publicUrl === undefined ? servedUrl : endpointAt(publicUrl)
  return createTokenAccess({ ...settings, resource, profileNamed, people, notify })
}

function readSettings<Settings>(read: () => Settings): Settings {
  try {
    return read()
  } catch (error) {
    throw error instanceof OptionError ? new CommandError(`${error.message}.`) : error
  }
}

/** The URL given with `--public-url`, without what could not be part of an endpoint. */
function publicUrlIn(input: Input): string | undefined {
  const value = urlIn(input, 'public-url')
  if (value !== undefined && /[?#]/.test(value))
    throw new UsageError(`--public-url is "${value}"; use a URL without a query.`)
  return value
}

/**
 * Returns the host names that clients may use: those of `--allow`, and that of `--public-url` where only some are
 * accepted.
 */
export function hostsIn(input: Input, address: string): readonly string[] {
  const hosts = input.texts('allow')
  const publicUrl = publicUrlIn(input)
  const isAnyHost = hosts.length === 0 && !LOOPBACK.has(address)
  return publicUrl === undefined || isAnyHost ? hosts : [...hosts, new URL(publicUrl).hostname]
}

/** The URL of the endpoint: clients are often given it whole. */
function endpointAt(publicUrl: string): string {
  const url = publicUrl.replace(/\/+$/, '')
  return url.endsWith('/mcp') ? url : `${url}/mcp`
}
