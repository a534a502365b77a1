// Explains why an API could not be reached: SDKs report only "Connection error." and keep the reason in `cause`.
import { fieldsOf, textOf } from '@toolshelf/core/internal'

/** Why an API could not be reached. */
type Unreachable = {
  readonly reason: string
  /** What the user can do. */
  readonly remedy: string
  /** Whether a retry may succeed. */
  readonly isTransient: boolean
}

/** Explains a connection failure; returns undefined for any other error. */
export function explainUnreachable(error: unknown, address: string): Unreachable | undefined {
  const causes = causesOf(error)
  const code = causes.map((one) => textOf(fieldsOf(one).code)).findLast((one) => one !== '') ?? ''
  const isTimeout = /Timeout/.test(textOf(fieldsOf(error).name))
  const known = KINDS.find(({ codes }) => codes.test(isTimeout ? 'TIMEOUT' : code))
  const api = address || 'the API'
  if (known) return { ...known, reason: known.reason(api, code) }
  // What `fetch` throws.
  if (!causes.some((one) => one instanceof TypeError) || causes.length === 1) return undefined
  const message = textOf(fieldsOf(causes.at(-1)).message).trim()
  return { reason: `Cannot connect to ${api}: ${message}.`, remedy: CORRECT, isTransient: code !== '' }
}

const CORRECT = 'Check the address of the API.'
const CORRECT_OR_NETWORK = 'Check the address of the API and the network.'

type Kind = Pick<Unreachable, 'remedy' | 'isTransient'> & {
  readonly codes: RegExp
  readonly reason: (api: string, code: string) => string
}

const KINDS: readonly Kind[] = [
  {
    codes: /^ECONNREFUSED$/,
    reason: (api) => `Nothing listens at ${api}: the connection was refused.`,
    remedy: `Start the API there. ${CORRECT}`,
    isTransient: true,
  },
  {
    codes: /^(ENOTFOUND|EAI_\w+)$/,
    reason: (api) => `The host of ${api} cannot be resolved.`,
    remedy: CORRECT_OR_NETWORK,
    isTransient: true,
  },
  {
    codes: /TIMEDOUT|TIMEOUT/,
    reason: (api) => `${api} did not answer in time.`,
    remedy: CORRECT_OR_NETWORK,
    isTransient: true,
  },
  {
    codes: /^E(HOST|NET)(UNREACH|DOWN)$/,
    reason: (api) => `There is no network route to ${api}.`,
    remedy: CORRECT_OR_NETWORK,
    isTransient: true,
  },
  {
    codes: /^(ECONNRESET|ECONNABORTED|EPIPE|UND_ERR_SOCKET)$/,
    reason: (api) => `The connection to ${api} broke off.`,
    remedy: 'If it keeps happening, check the server there.',
    isTransient: true,
  },
  {
    codes: /^(EPROTO|ERR_SSL_WRONG_VERSION_NUMBER|ERR_SSL_PACKET_LENGTH_TOO_LONG)$/,
    reason: (api, code) => `Cannot connect securely to ${api}: it does not speak TLS (${code}).`,
    remedy: `Use http:// if it speaks plain HTTP. ${CORRECT}`,
    isTransient: false,
  },
  {
    codes: /^(CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|HOSTNAME_MISMATCH|ERR_TLS_|ERR_SSL_)/,
    reason: (api, code) => `Cannot connect securely to ${api}: its certificate was rejected (${code}).`,
    remedy: `Set NODE_EXTRA_CA_CERTS to a file with the authority that signed it. ${CORRECT}`,
    isTransient: false,
  },
  {
    codes: /^HPE_/,
    reason: (api) => `The server at ${api} does not speak HTTP.`,
    remedy: CORRECT,
    isTransient: false,
  },
]

const MAX_CAUSES = 8

/** Returns the error and its causes, the outermost first. */
function causesOf(error: unknown): unknown[] {
  const causes: unknown[] = []
  for (let one = error; one && causes.length < MAX_CAUSES; one = fieldsOf(one).cause) causes.push(one)
  return causes
}
