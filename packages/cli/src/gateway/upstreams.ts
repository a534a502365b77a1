// Parses `--upstream`: a URL and its API format, with the credentials from the environment.
import type { Environment } from '@toolshelf/core/internal'
import {
  createChatUpstream,
  createMessagesUpstream,
  createResponsesUpstream,
  createScriptUpstream,
  type Upstream,
} from '@toolshelf/messages'
import { ANTHROPIC, type UpstreamWire } from '@toolshelf/messages/internal'
import { CommandError, UsageError } from '../command.ts'
import { readScriptNamed } from '../script-option.ts'

const OPENAI = new URL('https://api.openai.com/v1')

/** Opens `anthropic`, a URL, `openai[:URL]`, `responses[:URL]`, `script:FILE` or `script:demo`. */
export async function openUpstream(
  text: string,
  wire: UpstreamWire | undefined,
  environment: Environment,
): Promise<Upstream> {
  const [, kind = '', rest = ''] = /^(anthropic|openai|responses|script)(?::(.*))?$/s.exec(text) ?? []
  const own = environment.TOOLSHELF_UPSTREAM_KEY
  const openaiKey = own ?? environment.OPENAI_API_KEY
  try {
    switch (kind) {
      case 'anthropic':
        return createMessagesUpstream({
          url: rest === '' ? ANTHROPIC : addressOf(rest),
          key: own,
          keyOtherwise: environment.ANTHROPIC_API_KEY,
          wire,
        })
      case 'openai':
        return createChatUpstream(
          withDefined({ url: rest === '' ? OPENAI : addressOf(rest), key: openaiKey, wire }),
        )
      case 'responses':
        return createResponsesUpstream(
          withDefined({ url: rest === '' ? OPENAI : addressOf(rest), key: openaiKey, wire }),
        )
      case 'script':
        return createScriptUpstream(
          withDefined({ script: await readScriptNamed(rest), name: `script:${rest}`, wire }),
        )
      default:
        return createMessagesUpstream({ url: addressOf(text), key: own, wire })
    }
  } catch (error) {
    throw error instanceof UsageError ? error : new CommandError((error as Error).message)
  }
}

function addressOf(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url?.protocol === 'http:' || url?.protocol === 'https:') {
    const isSecret = [...url.searchParams.keys()].some((name) => /key|token|secret|password|auth/i.test(name))
    if (url.username === '' && url.password === '' && !isSecret) return url
    throw new UsageError('--upstream contains a password or a key; set TOOLSHELF_UPSTREAM_KEY instead.')
  }
  throw new UsageError(
    `--upstream is "${text.replace(/\/\/[^/]*@/, '//…@')}"; use anthropic, an http(s) URL, openai:URL, responses:URL, script:FILE or script:demo.`,
  )
}

function withDefined<Options extends object>(
  options: Options,
): { [K in keyof Options]: Exclude<Options[K], undefined> } {
  const defined = Object.entries(options).filter(([, value]) => value !== undefined)
  return Object.fromEntries(defined) as { [K in keyof Options]: Exclude<Options[K], undefined> }
}
