/** Ids and labels that clients choose: the same for the same number, in every life of a seed. */
import { chanceOf } from '../chance.ts'

export function invocationId(seed: number, label: string): string {
  const bytes = Buffer.from(chanceOf(seed, `id of ${label}`).bytes(16))
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x40, 6)
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8)
  const hex = bytes.toString('hex')
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-')
}

/** Of a chat message. Another content under the id of this one has another label. */
export function requestLabel(request: number): string {
  return `r${request}`
}

export function callLabel(call: number): string {
  return `c${call}`
}
