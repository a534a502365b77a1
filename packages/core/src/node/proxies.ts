// Chooses the proxy for a request, as the environment names it.
// Implements H12.
import { BlockList, isIP } from 'node:net'

/** A proxy that the environment names. */
export type HttpProxy = {
  readonly url: URL
  /** Its URL without user and password, for messages. */
  readonly name: string
  /** The value of the header `Proxy-Authorization`. */
  readonly authorization: string | undefined
}

/** Thrown if a proxy cannot be reached, or refuses to connect. */
export class ProxyError extends Error {}

/** Returns the proxy for a URL; undefined if it is reached directly, as everything on this machine is. */
export function proxyFor(url: URL, environment: NodeJS.ProcessEnv = process.env): HttpProxy | undefined {
  const settings = settingsIn(environment)
  const proxy = url.protocol === 'https:' ? settings?.https : settings?.http
  return proxy && !isLoopback(url.hostname) && !settings?.isExcepted(url) ? proxy : undefined
}

/** Returns whether the environment names a proxy. */
export function namesProxy(environment: NodeJS.ProcessEnv = process.env): boolean {
  return settingsIn(environment) !== undefined
}

/** Returns what is wrong with the variables; a proxy that cannot be used is not used. */
export function proxyProblems(environment: NodeJS.ProcessEnv = process.env): readonly string[] {
  return settingsIn(environment)?.problems ?? []
}

/** Returns the error that says at which proxy a request failed, without its password. */
export function nameProxy(url: URL, error: unknown): unknown {
  const proxy = proxyFor(url)
  if (!proxy || error instanceof ProxyError) return error
  const { code, message } = error as NodeJS.ErrnoException
  if (UNREACHED.test(code ?? '')) return new ProxyError(`the proxy ${proxy.name} cannot be reached (${code})`)
  const named = new Error(`${message} (through the proxy ${proxy.name})`)
  return code === undefined ? named : Object.assign(named, { code })
}

/** Codes of a connection that never came about; a proxied request connects to nothing but the proxy. */
const UNREACHED =
  /^(?:ECONNREFUSED|ENOTFOUND|EAI_\w+|ETIMEDOUT|E(?:HOST|NET)(?:UNREACH|DOWN)|UND_ERR_CONNECT_TIMEOUT)$/

type Settings = {
  readonly http: HttpProxy | undefined
  readonly https: HttpProxy | undefined
  readonly isExcepted: (url: URL) => boolean
  readonly problems: readonly string[]
}

const VARIABLES = ['http_proxy', 'https_proxy', 'all_proxy', 'no_proxy'] as const
let known: { readonly key: string; readonly settings: Settings | undefined } | undefined

/** Reads the variables, in lower or upper case; undefined if none names a proxy. */
function settingsIn(environment: NodeJS.ProcessEnv): Settings | undefined {
  const given = VARIABLES.map((name) => environment[name] || environment[name.toUpperCase()] || '')
  const key = given.join('\n')
  if (known?.key !== key) known = { key, settings: parseSettings(given) }
  return known.settings
}

function parseSettings([http = '', https = '', all = '', none = '']: readonly string[]):
  | Settings
  | undefined {
  if (!http && !https && !all) return undefined
  const problems: string[] = []
  const read = (name: string, value: string) => {
    const proxy = value === '' ? undefined : parseProxy(value)
    if (value !== '' && proxy === undefined)
      problems.push(`${name} is not used: a proxy is written as http://host:port or https://host:port.`)
    return proxy
  }
  const forAll = read('ALL_PROXY', all)
  return {
    http: read('HTTP_PROXY', http) ?? forAll,
    https: read('HTTPS_PROXY', https) ?? forAll,
    isExcepted: exceptionsIn(none),
    problems,
  }
}

function parseProxy(value: string): HttpProxy | undefined {
  const text = /^[a-z][\w+.-]*:\/\//i.test(value) ? value : `http://${value}`
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.hostname === '') return undefined
  const { username, password } = url
  const credentials = [username, password].map(decoded).join(':')
  return {
    url,
    name: url.origin,
    authorization:
      credentials === ':' ? undefined : `Basic ${Buffer.from(credentials, 'utf8').toString('base64')}`,
  }
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** Returns whether a host is this machine, which no proxy leads to. */
function isLoopback(hostname: string): boolean {
  return /^(?:(?:.*\.)?localhost\.?|127(?:\.\d+){3}|0\.0\.0\.0|\[::1?\]|\[::ffff:7f[\da-f]{2}:[\da-f]+\])$/.test(
    hostname,
  )
}

/** Returns a test for the hosts, domains, addresses and subnets of `NO_PROXY`; a domain covers its subdomains. */
function exceptionsIn(none: string): (url: URL) => boolean {
  const subnets = new BlockList()
  const hosts: { readonly host: string; readonly port: string | undefined }[] = []
  for (const entry of none.toLowerCase().split(/[\s,]+/)) {
    const [address = '', bits] = entry.split('/')
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4'
    if (
      isIP(address) > 0 &&
      /^\d{1,3}$/.test(bits ?? '0') &&
      Number(bits ?? 0) <= (family === 'ipv6' ? 128 : 32)
    ) {
      if (bits === undefined) subnets.addAddress(address, family)
      else subnets.addSubnet(address, Number(bits), family)
      continue
    }
    const [, host = '', port] = /^(.*?)(?::(\d+))?$/.exec(entry) ?? []
    if (host !== '') hosts.push({ host: host.replace(/^\*?\.|^\[|\]$/g, ''), port })
  }
  return ({ hostname, port, protocol }) => {
    const name = hostname.replace(/^\[|\]$|\.$/g, '')
    const own = port || (protocol === 'https:' ? '443' : '80')
    const family = isIP(name) === 6 ? 'ipv6' : 'ipv4'
    if (isIP(name) > 0 && subnets.check(name, family)) return true
    return hosts.some(
      (one) =>
        (one.host === '*' || one.host === name || name.endsWith(`.${one.host}`)) && (one.port ?? own) === own,
    )
  }
}
