/**
 * How far an IP address reaches. What is not plainly an address of the public internet is not called one: of IPv6 only the
 * global unicast block is, so every form that carries an IPv4 address inside (mapped, NAT64, 6to4, Teredo) is refused as well.
 */
import { BlockList, isIP } from 'node:net'

/**
 * `private`: this machine or a network of its owner, for who says so. `never`: link-local, where machines of a cloud find
 * their credentials, and what is no address of one host at all.
 */
export type Reach = 'public' | 'private' | 'never'

/** Whether a host is written as an address, and so needs no look-up. IPv6 stands without brackets. */
export function isAddress(host: string): boolean {
  return isIP(host) !== 0
}

export function reachOf(address: string): Reach {
  const version = isIP(address)
  if (version === 0 || address.includes('%')) return 'never' // a zone names an interface of ours
  const { family, never, own, common } = version === 4 ? V4 : V6
  if (never.check(address, family)) return 'never'
  if (own.check(address, family)) return 'private'
  return common.check(address, family) ? 'public' : 'never'
}

function blocks(family: 'ipv4' | 'ipv6', texts: readonly string[]): BlockList {
  const list = new BlockList()
  for (const text of texts) {
    const [address = '', bits = ''] = text.split('/')
    list.addSubnet(address, Number(bits), family)
  }
  return list
}

const V4 = {
  family: 'ipv4',
  never: blocks('ipv4', [
    '0.0.0.0/8',
    '169.254.0.0/16', // link-local, with the metadata service of most clouds
    '192.0.0.0/24',
    '192.0.2.0/24',
    '192.88.99.0/24', // 6to4 relays
    '198.18.0.0/15',
    '198.51.100.0/24',
    '203.0.113.0/24',
    '224.0.0.0/4',
    '240.0.0.0/4',
    '100.100.100.200/32', // metadata services outside of the link-local block
    '168.63.129.16/32',
  ]),
  own: blocks('ipv4', ['10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16']),
  common: blocks('ipv4', ['0.0.0.0/1', '128.0.0.0/1']),
} as const

const V6 = {
  family: 'ipv6',
  never: blocks('ipv6', [
    'fd00:ec2::254/128', // metadata services
    'fd00:c1::a9fe:a9fe/128',
    'fd20:ce::254/128',
    '2001::/23', // Teredo and its neighbours
    '2001:db8::/32',
    '2002::/16', // 6to4
    '3fff::/20',
  ]),
  own: blocks('ipv6', ['::1/128', 'fc00::/7']),
  common: blocks('ipv6', ['2000::/3']),
} as const
