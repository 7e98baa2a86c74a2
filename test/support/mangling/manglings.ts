/**
 * What can be done to a journal by somebody who may write to its folder and has not its key: one function each, and what
 * every verifier must say of it. Each is drawn at random within its name, so that the name alone decides the verdict.
 *
 * All of them take any bytes, so that they can follow each other; the verdict is that of one alone, on a whole journal.
 */
import { L, littleEndian } from '../curve.ts'
import { type MadeKey, sha256 } from '../journal-maker.ts'
import type { Chance } from './chance.ts'
import { BEGINNING, type Expected, LENGTHENED, NEVER, NOTHING, TORN } from './expected.ts'
import {
  chainedTo,
  journalSealedBy,
  linesOf,
  payloadOf,
  sealedBy,
  signatureOf,
  withPayload,
  withSignature,
} from './lines.ts'

/** What a mangler has beside the journal. */
export interface Around {
  /** The honest lines of another run of the same signer, and of the same principal where there is one. */
  readonly other: readonly Buffer[]
  readonly runId: string
  readonly otherRunId: string
  /** The key of somebody else. */
  readonly thief: MadeKey
  readonly chance: Chance
}

export type Mangle = (bytes: Buffer, around: Around) => Buffer

export interface Mangling {
  readonly group: string
  readonly name: string
  readonly expected: Expected
  readonly mangle: Mangle
}

const all = Buffer.concat
const NEWLINE = Buffer.from('\n')
const SECTOR_BYTES = 512

/** Lines in, lines out; a journal that has too few of them stays as it is. */
function byLines(least: number, change: (lines: readonly Buffer[], around: Around) => readonly Buffer[]): Mangle {
  return (bytes, around) => {
    const lines = linesOf(bytes)
    return lines.length < least ? bytes : all(change(lines, around))
  }
}

/** The same for a change that needs as many lines of the other run. */
function byBoth(least: number, change: (lines: readonly Buffer[], around: Around) => readonly Buffer[]): Mangle {
  return byLines(least, (lines, around) => (around.other.length < least ? lines : change(lines, around)))
}

/** One line that the chance chooses, among those from `from` to the last but `leave`. */
function oneLine(change: (line: Buffer, at: number, around: Around) => Buffer, from = 0, leave = 0): Mangle {
  return byLines(from + leave + 1, (lines, around) => {
    const at = around.chance.between(from, lines.length - leave)
    return lines.with(at, change(lines[at] as Buffer, at, around))
  })
}

/** Cuts the line that the chance chooses, never at one of its ends. */
function cutInside(from: number): (lines: readonly Buffer[], around: Around) => readonly Buffer[] {
  return (lines, { chance }) => {
    const at = chance.between(from, lines.length)
    const line = lines[at] as Buffer
    return line.length < 2 ? lines : [...lines.slice(0, at), line.subarray(0, chance.between(1, line.length))]
  }
}

/** Bytes that are no newline, so that they end no line. */
function noise({ chance }: Around, most = 200): Buffer {
  return Buffer.from(chance.bytes(chance.between(1, most)).map((byte) => (byte === 0x0a ? 0x0b : byte)))
}

/** An offset of a byte that is not the last one. */
function offsetIn(bytes: Buffer, { chance }: Around): number {
  return chance.below(Math.max(1, bytes.length - 1))
}

function replaced(bytes: Buffer, at: number, byte: number): Buffer {
  const changed = Buffer.from(bytes)
  changed[at] = byte
  return changed
}

function flipped(bytes: Buffer, at: number, { chance }: Around): Buffer {
  return bytes.length === 0 ? bytes : replaced(bytes, at, (bytes[at] as number) ^ (1 << chance.below(8)))
}

const LOST: Rows = [
  [
    'cut at the end of a line',
    BEGINNING,
    byLines(2, (lines, { chance }) => lines.slice(0, chance.between(1, lines.length))),
  ],
  ['the terminal entry dropped', BEGINNING, byLines(2, (lines) => lines.slice(0, -1))],
  ['cut inside a line', TORN, byLines(2, cutInside(1))],
  ['the last newline cut', TORN, byLines(2, (lines) => lines.with(-1, (lines.at(-1) as Buffer).subarray(0, -1)))],
  [
    'cut inside the first line',
    NOTHING,
    byLines(1, ([first], { chance }) => [(first as Buffer).subarray(0, chance.below((first as Buffer).length))]),
  ],
  ['emptied', NOTHING, () => Buffer.alloc(0)],
  [
    'cut inside a line, and a newline put behind it',
    NEVER,
    byLines(2, (lines, around) => [...cutInside(1)(lines, around), NEWLINE]),
  ],
  ['the first line dropped', NEVER, byLines(2, (lines) => lines.slice(1))],
  [
    'a line dropped, and not the last',
    NEVER,
    byLines(2, (lines, { chance }) => lines.toSpliced(chance.below(lines.length - 1), 1)),
  ],
  [
    'bytes cut out, and not at the end',
    NEVER,
    (bytes, around) => {
      const from = offsetIn(bytes, around)
      const to = around.chance.between(from, Math.max(from + 1, bytes.length - 1)) + 1
      return to >= bytes.length ? bytes : all([bytes.subarray(0, from), bytes.subarray(to)])
    },
  ],
]

const CHANGED: Rows = [
  ['one bit flipped', NEVER, (bytes, around) => flipped(bytes, offsetIn(bytes, around), around)],
  ['the last newline flipped', TORN, (bytes, around) => flipped(bytes, bytes.length - 1, around)],
  [
    'one byte replaced',
    NEVER,
    (bytes, around) => {
      if (bytes.length === 0) return bytes
      const at = offsetIn(bytes, around)
      return replaced(bytes, at, ((bytes[at] as number) + around.chance.between(1, 256)) & 0xff)
    },
  ],
  [
    'a digit or a letter of a payload changed',
    NEVER,
    oneLine((line, _at, { chance }) => {
      const payload = payloadOf(line)
      if (payload === null) return line
      const places = [...payload.matchAll(/[0-9A-Za-z]/g)].map(({ index }) => index)
      if (places.length === 0) return line
      const at = chance.pick(places)
      const next = payload[at] === '9' ? '8' : payload[at] === 'z' ? 'y' : 'z'
      return withPayload(line, `${payload.slice(0, at)}${next === payload[at] ? 'x' : next}${payload.slice(at + 1)}`)
    }),
  ],
  [
    'bytes in the middle filled with zeros',
    NEVER,
    (bytes, around) => {
      if (bytes.length < 2) return bytes
      const changed = Buffer.from(bytes)
      const from = offsetIn(bytes, around)
      return changed.fill(0, from, around.chance.between(from + 1, bytes.length))
    },
  ],
  [
    'a line filled with zeros, its newline kept',
    NEVER,
    oneLine((line) => all([Buffer.alloc(line.length - 1), NEWLINE])),
  ],
  [
    'the end filled with zeros, from inside a line on',
    TORN,
    byLines(2, (lines, around) => {
      const kept = all(cutInside(1)(lines, around))
      return [kept, Buffer.alloc(all(lines).length - kept.length)]
    }),
  ],
  [
    'the last line filled with zeros, and its newline',
    TORN,
    byLines(2, (lines) => lines.with(-1, Buffer.alloc((lines.at(-1) as Buffer).length))),
  ],
  [
    'sectors behind the first line filled with zeros, as a power cut leaves them',
    TORN,
    (bytes, { chance }) => {
      const first = Math.ceil((bytes.indexOf(0x0a) + 1) / SECTOR_BYTES)
      const count = Math.floor(bytes.length / SECTOR_BYTES) - first
      if (count < 1) return bytes.subarray(0, -1)
      const from = first + chance.below(count)
      return Buffer.from(bytes).fill(0, from * SECTOR_BYTES, chance.between(from + 1, first + count + 1) * SECTOR_BYTES)
    },
  ],
  ['all of it filled with zeros', NOTHING, (bytes) => Buffer.alloc(bytes.length)],
]

const LENGTHENED_BY: Rows = [
  [
    'zeros behind the end, as a power cut leaves them',
    LENGTHENED,
    (bytes, { chance }) => all([bytes, Buffer.alloc(chance.between(1, 600))]),
  ],
  ['noise behind the end', LENGTHENED, (bytes, around) => all([bytes, noise(around)])],
  [
    'half a line of another run behind the end',
    LENGTHENED,
    (bytes, { other, chance }) => {
      const line = chance.pick(other)
      return all([bytes, line.subarray(0, chance.between(1, line.length))])
    },
  ],
  ['noise and a newline behind the end', NEVER, (bytes, around) => all([bytes, noise(around), NEWLINE])],
  [
    'noise put in, and not at the end',
    NEVER,
    (bytes, around) => {
      const at = offsetIn(bytes, around)
      return all([bytes.subarray(0, at), noise(around), bytes.subarray(at)])
    },
  ],
  [
    'an empty line put in',
    NEVER,
    byLines(1, (lines, { chance }) => lines.toSpliced(chance.below(lines.length + 1), 0, NEWLINE)),
  ],
  ['a byte order mark in front', NEVER, (bytes) => all([Buffer.from('\ufeff'), bytes])],
  ['the line ends of another system', NEVER, oneLine((line) => all([line.subarray(0, -1), Buffer.from('\r\n')]))],
  [
    'a space put into the frame of a line',
    NEVER,
    oneLine((line, _at, { chance }) => {
      const text = line.toString('latin1')
      const [from, to] = chance.pick([
        [',"signature"', ', "signature"'],
        [',"signature"', ' ,"signature"'],
        ['{"payload":', '{"payload": '],
        ['{"payload":', ' {"payload":'],
        ['"}\n', '"} \n'],
        ['"}\n', '" }\n'],
      ] as const)
      const at = from === '{"payload":' ? text.indexOf(from) : text.lastIndexOf(from)
      return at === -1 ? line : Buffer.from(`${text.slice(0, at)}${to}${text.slice(at + from.length)}`, 'latin1')
    }),
  ],
  [
    'a member put beside payload and signature',
    NEVER,
    oneLine((line, _at, { chance }) => {
      const text = line.toString('latin1')
      if (payloadOf(line) === null) return line
      const changed = chance.pick([
        text.replace('{"payload":', '{"note":"x","payload":'),
        text.replace('{"payload":', '{"payload":{},"payload":'),
        text.replace(/"\}\n$/, '","note":"x"}\n'),
        text.replace(/"\}\n$/, '","signature":""}\n'),
      ])
      return Buffer.from(changed, 'latin1')
    }),
  ],
]

const MOVED: Rows = [
  [
    'a line written twice',
    NEVER,
    byLines(1, (lines, { chance }) => {
      const at = chance.below(lines.length)
      return lines.toSpliced(at, 0, lines[at] as Buffer)
    }),
  ],
  ['the terminal entry written twice', NEVER, byLines(1, (lines) => [...lines, lines.at(-1) as Buffer])],
  ['all of it written twice', NEVER, (bytes) => all([bytes, bytes])],
  [
    'two lines exchanged',
    NEVER,
    byLines(2, (lines, { chance }) => {
      const from = chance.below(lines.length - 1)
      const to = chance.between(from + 1, lines.length)
      return lines.with(from, lines[to] as Buffer).with(to, lines[from] as Buffer)
    }),
  ],
  ['the lines in the opposite order', NEVER, byLines(2, (lines) => lines.toReversed())],
  [
    'a line moved to another place',
    NEVER,
    byLines(3, (lines, { chance }) => {
      const from = chance.below(lines.length)
      const rest = lines.toSpliced(from, 1)
      const places = Array.from({ length: lines.length }, (_, to) => to).filter((to) => to !== from)
      return rest.toSpliced(chance.pick(places), 0, lines[from] as Buffer)
    }),
  ],
  ['two lines glued', NEVER, oneLine((line) => line.subarray(0, -1), 0, 1)],
  [
    'half a line glued to the line that was written after it',
    NEVER,
    byLines(1, (lines, { chance }) => {
      const at = chance.below(lines.length)
      const line = lines[at] as Buffer
      return line.length < 3 ? lines : lines.toSpliced(at, 0, line.subarray(0, chance.between(1, line.length - 1)))
    }),
  ],
  [
    'a line split into two',
    NEVER,
    oneLine((line, _at, { chance }) => {
      if (line.length < 3) return line
      const at = chance.between(1, line.length - 1)
      return all([line.subarray(0, at), NEWLINE, line.subarray(at)])
    }),
  ],
]

const SEALED: Rows = [
  ['sealed again by another key, all of it', NEVER, (bytes, { thief }) => journalSealedBy(thief, linesOf(bytes))],
  ['sealed again by another key, one line', NEVER, oneLine((line, _at, { thief }) => sealedBy(thief, line))],
  [
    'sealed again by another key, the terminal entry',
    NEVER,
    byLines(1, (lines, { thief }) => lines.with(-1, sealedBy(thief, lines.at(-1) as Buffer))),
  ],
  [
    'forked: other entries from one line on, by another key, rightly chained',
    NEVER,
    byLines(2, (lines, { thief, chance }) => {
      const at = chance.between(1, lines.length)
      let previous = sha256(lines[at - 1] as Buffer)
      const fork = lines.slice(at).map((line) => {
        const payload = payloadOf(line)
        const sealed = payload === null ? line : sealedBy(thief, withPayload(line, chainedTo(previous, payload)))
        previous = sha256(sealed)
        return sealed
      })
      return [...lines.slice(0, at), ...fork]
    }),
  ],
  [
    'the run id changed, and sealed again by another key',
    NEVER,
    (bytes, { thief, runId, otherRunId }) =>
      journalSealedBy(thief, linesOf(bytes), (payload) => payload.replaceAll(runId, otherRunId)),
  ],
  [
    'the signatures of two lines exchanged',
    NEVER,
    byLines(2, (lines, { chance }) => {
      const from = chance.below(lines.length - 1)
      const to = chance.between(from + 1, lines.length)
      const [left, right] = [lines[from] as Buffer, lines[to] as Buffer]
      const ofRight = signatureOf(right)
      const ofLeft = signatureOf(left)
      if (ofLeft === null || ofRight === null) return lines
      return lines
        .with(from, withSignature(left, ofRight.toString('base64')))
        .with(to, withSignature(right, ofLeft.toString('base64')))
    }),
  ],
  [
    'a signature emptied, or of zeros',
    NEVER,
    oneLine((line, _at, { chance }) =>
      withSignature(
        line,
        chance.pick(['', Buffer.alloc(64).toString('base64'), Buffer.alloc(64, 1).toString('base64')]),
      ),
    ),
  ],
  [
    'a signature of the same value in another form',
    NEVER,
    oneLine((line, _at, { chance }) => {
      const signature = signatureOf(line)
      if (signature?.length !== 64) return line
      const raised = all([signature.subarray(0, 32), littleEndian(sOf(signature) + L)]).toString('base64')
      const longer = all([signature, Buffer.alloc(1)]).toString('base64')
      const base64 = signature.toString('base64')
      const forms = [raised, longer, base64.slice(0, -2), idle(base64), signature.toString('base64url'), ` ${base64}`]
      return withSignature(line, chance.pick(forms))
    }),
  ],
]

/** Both journals are genuine, and of one signer. */
const EXCHANGED: Rows = [
  ['another run of the same signer under this name', { ...NEVER, anyRun: 'another run' }, (_, { other }) => all(other)],
  [
    'every run id changed to that of another run',
    NEVER,
    (bytes, { runId, otherRunId }) => Buffer.from(bytes.toString('latin1').replaceAll(runId, otherRunId), 'latin1'),
  ],
  [
    'another run of the same signer, its run ids changed to this one',
    NEVER,
    (_, { other, runId, otherRunId }) =>
      Buffer.from(all(other).toString('latin1').replaceAll(otherRunId, runId), 'latin1'),
  ],
  [
    'forked: from one line on the lines of another run',
    NEVER,
    byBoth(2, (lines, { other, chance }) => {
      const at = chance.between(1, Math.min(lines.length, other.length))
      return [...lines.slice(0, at), ...other.slice(at)]
    }),
  ],
  [
    'forked: another run up to one line, and this one from there on',
    NEVER,
    byBoth(2, (lines, { other, chance }) => {
      const at = chance.between(1, Math.min(lines.length, other.length))
      return [...other.slice(0, at), ...lines.slice(at)]
    }),
  ],
  [
    'the line of another run with the same number in its place',
    NEVER,
    byLines(1, (lines, { other, chance }) => {
      const at = chance.below(Math.min(lines.length, other.length))
      return lines.with(at, other[at] as Buffer)
    }),
  ],
  [
    'the terminal entry of another run in place of its own',
    NEVER,
    byLines(1, (lines, { other }) => lines.with(-1, other.at(-1) as Buffer)),
  ],
  [
    'a line of another run put in',
    NEVER,
    byLines(1, (lines, { other, chance }) => lines.toSpliced(chance.below(lines.length + 1), 0, chance.pick(other))),
  ],
  ['another run appended', NEVER, (bytes, { other }) => all([bytes, ...other])],
  [
    'a payload of another run under a signature of this one',
    NEVER,
    oneLine((line, at, { other }) => {
      const payload = payloadOf(other[at % other.length] as Buffer)
      return payload === null ? line : withPayload(line, payload)
    }),
  ],
  [
    'a payload of this run under a signature of another',
    NEVER,
    oneLine((line, at, { other }) => {
      const signature = signatureOf(other[at % other.length] as Buffer)
      return signature === null ? line : withSignature(line, signature.toString('base64'))
    }),
  ],
  [
    'a line of another run, chained to the line before it by hand',
    NEVER,
    byBoth(2, (lines, { other, chance, runId, otherRunId }) => {
      const at = chance.between(1, Math.min(lines.length, other.length))
      const strange = other[at] as Buffer
      const payload = chainedTo(sha256(lines[at - 1] as Buffer), payloadOf(strange) ?? '')
      return lines.with(at, withPayload(strange, payload.replaceAll(otherRunId, runId)))
    }),
  ],
]

type Rows = readonly (readonly [name: string, expected: Expected, mangle: Mangle])[]

export const MANGLINGS: readonly Mangling[] = (
  [
    ['lost', LOST],
    ['changed', CHANGED],
    ['put in', LENGTHENED_BY],
    ['moved', MOVED],
    ['sealed by somebody else', SEALED],
    ['exchanged with another run of the same signer', EXCHANGED],
  ] as const
).flatMap(([group, rows]) => rows.map(([name, expected, mangle]) => ({ group, name, expected, mangle })))

/** The second half of a signature, as a number. */
function sOf(signature: Buffer): bigint {
  return BigInt(`0x${Buffer.from(signature.subarray(32)).reverse().toString('hex')}`)
}

/** The last digit before the padding has four bits that decode to nothing: another text, the same bytes. */
function idle(base64: string): string {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
  const digit = alphabet[alphabet.indexOf(base64[85] as string) + 1] as string
  return `${base64.slice(0, 85)}${digit}==`
}
