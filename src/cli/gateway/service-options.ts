// The options that `mcp --http` and `serve` share as services: certificates, proxies, metrics, and how they end.
import type { TlsFiles } from '../../operate/index.ts'
import { type Input, type Option, UsageError } from '../command.ts'

/** Names and descriptions of the options. */
export const serviceOptions: { readonly [name: string]: Option } = {
  'tls-cert': { type: 'string', value: 'file', about: 'certificate for HTTPS; read again when it changes' },
  'tls-key': { type: 'string', value: 'file', about: 'the private key of --tls-cert' },
  'tls-ca': { type: 'string', value: 'file', about: 'require client certificates signed by this authority' },
  proxies: {
    type: 'string',
    value: 'subnet',
    isMultiple: true,
    about: 'addresses of balancers whose X-Forwarded-For is trusted',
  },
  'open-metrics': { type: 'boolean', about: 'let anyone read /metrics, without a key' },
  'drain-delay': {
    type: 'string',
    value: 'seconds',
    about: 'seconds between "not ready" and the end at SIGTERM (default: 0)',
  },
}

/** The values of these options, as both gateways take them. */
export type ServiceSettings = {
  readonly tls?: TlsFiles
  readonly proxies: readonly string[]
  readonly hasOpenMetrics: boolean
}

/** Reads the options. */
export function serviceIn(input: Input): ServiceSettings {
  const [cert, key, ca] = ['tls-cert', 'tls-key', 'tls-ca'].map((option) => input.text(option))
  if ((cert === undefined) !== (key === undefined))
    throw new UsageError('--tls-cert and --tls-key belong together; pass both.')
  if (ca !== undefined && cert === undefined) throw new UsageError('--tls-ca needs --tls-cert and --tls-key.')
  return {
    ...(cert !== undefined && key !== undefined ? { tls: { cert, key, ca } } : {}),
    proxies: input.texts('proxies'),
    hasOpenMetrics: input.isSet('open-metrics'),
  }
}

const MAX_DELAY_SECONDS = 300

/** Returns the value of `--drain-delay` in milliseconds. */
export function drainDelayIn(input: Input): number {
  const value = input.text('drain-delay') ?? '0'
  const seconds = Number(value)
  if (/^\d+(\.\d+)?$/.test(value) && seconds <= MAX_DELAY_SECONDS) return seconds * 1000
  throw new UsageError(`--drain-delay is "${value}"; use a number of seconds up to ${MAX_DELAY_SECONDS}.`)
}

/** What to do about invalid options, by the names that the library gives them. */
export const serviceRemedies = {
  tls: 'pass a certificate with --tls-cert and its private key with --tls-key, both as PEM',
  proxies: 'write addresses of --proxies as 10.0.0.5 or 10.0.0.0/8',
}
