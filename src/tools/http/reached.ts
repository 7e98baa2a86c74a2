/**
 * Where the name of an origin leads, asked once: every address that it has must be allowed, and the connection then goes to one
 * of exactly these. A name that says one thing when it is checked and another when it is used gains nothing.
 */
import { Fault } from '../../core/index.ts'
import { reachOf, type World } from '../../world/index.ts'
import type { Origin } from './origins.ts'

/** Throws `CONNECTION_LOST` when there is no such name and `ADDRESS_REFUSED` when it leads elsewhere: nothing was sent then. */
export async function addressesOf(
  { host, isAddress, private: own }: Origin,
  world: Pick<World, 'net'>,
  signal: AbortSignal,
): Promise<readonly string[]> {
  if (isAddress) return [host]
  const addresses = await world.net.resolve(host, signal)
  if (addresses.length === 0) {
    throw new Fault('CONNECTION_LOST', { message: `Cannot find the server "${host}": the name has no address` })
  }
  for (const address of addresses) {
    const reach = reachOf(address)
    if (reach === 'public' || (reach === 'private' && own)) continue
    throw new Fault('ADDRESS_REFUSED', {
      message: `Cannot connect to "${host}": one of its addresses is ${reach === 'private' ? 'private' : 'not that of a server'}`,
      hint: 'Where that is meant, the origin is listed with "private = true"',
    })
  }
  return addresses
}
