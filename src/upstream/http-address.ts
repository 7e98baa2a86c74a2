/**
 * Where a request to a server may go (2.5). A name is looked up once, and all of its addresses must belong to the public
 * internet. A private address is reached only when the operator wrote it down himself: as an address, or as "localhost".
 */
import { Fault } from '../core/index.ts'
import { type Reach, reachOf, type World } from '../world/index.ts'

const METADATA_NAMES = new Set(['metadata', 'metadata.google.internal', 'instance-data'])

export async function checkedAddresses(world: World, url: string, signal: AbortSignal): Promise<readonly string[]> {
  const host = new URL(url).hostname.toLowerCase().replace(/\.$/, '')
  const literal = host.startsWith('[') ? host.slice(1, -1) : /^\d+(?:\.\d+){3}$/.test(host) ? host : null
  if (METADATA_NAMES.has(host)) throw refused('its name is that of a metadata service')
  const addresses = literal === null ? await world.net.resolve(host, signal) : [literal]
  if (addresses.length === 0) throw refused('its name is not known')
  const named: readonly Reach[] = literal !== null || host === 'localhost' ? ['public', 'private'] : ['public']
  if (!addresses.every((address) => named.includes(reachOf(address)))) {
    throw refused('its name leads to an address that is not of the public internet')
  }
  return addresses
}

function refused(state: string): Fault {
  return new Fault('UPSTREAM_UNAVAILABLE', {
    message: `Cannot reach the tool server: ${state}`,
    hint: 'Write a private address down as the address itself, such as http://10.0.0.5:8080/mcp',
  })
}
