// Determines the address that a request comes from: that of the connection, or the one that a trusted proxy reports.
import type { IncomingMessage } from 'node:http'
import { BlockList, isIP, isIPv6 } from 'node:net'
import { OptionError } from '@toolshelf/core/internal/node'
import { networkOf, networkOfAddress } from './http.ts'

/** Returns the network of a request's client, which identifies clients that have no key or session. */
type ClientNetwork = (incoming: IncomingMessage) => string

/** How many addresses of a header to read; a client may send any number of them. */
const MAX_HOPS = 32

/**
 * Creates a function that determines the client's network.
 *
 * @param proxies - Addresses or subnets, such as `10.0.0.0/8`, whose `X-Forwarded-For` is trusted. Without any, the header is
 * ignored, because clients can send it too.
 */
export function createClientNetwork(proxies: readonly string[]): ClientNetwork {
  const trusted = new BlockList()
  for (const proxy of proxies) addSubnet(trusted, proxy)
  // BlockList also matches IPv4 addresses written as IPv6.
  const isTrusted = (address: string) => trusted.check(address, isIPv6(address) ? 'ipv6' : 'ipv4')
  return (incoming) => {
    const peer = incoming.socket.remoteAddress ?? ''
    if (isIP(peer) === 0 || !isTrusted(peer)) return networkOf(incoming)
    const hops = [incoming.headers['x-forwarded-for'] ?? []].flat().join(',').split(',').slice(-MAX_HOPS)
    // The last address that is not a trusted proxy: everything in front of it may be forged.
    const client = hops
      .map((hop) => hop.trim())
      .reverse()
      .find((hop) => isIP(hop) === 0 || !isTrusted(hop))
    return client !== undefined && isIP(client) !== 0 ? networkOfAddress(client) : networkOf(incoming)
  }
}

function addSubnet(list: BlockList, proxy: string): void {
  const [address = '', bits, ...rest] = proxy.split('/')
  const family = isIP(address) === 6 ? 'ipv6' : 'ipv4'
  const maxBits = family === 'ipv6' ? 128 : 32
  const isSubnet = bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= maxBits)
  if (isIP(address) === 0 || !isSubnet || rest.length > 0)
    throw new OptionError(
      'proxies',
      `"${proxy}" is not an IP address or subnet`,
      'write it as 10.0.0.5 or 10.0.0.0/8',
    )
  list.addSubnet(address, bits === undefined ? maxBits : Number(bits), family)
}
