/**
 * Memory of a server that does nothing: with no socket, with 1,000 idle ones, and with 10,000, of which one is a ten-thousandth:
 * with the first thousand the engine makes room for what arrives, which it does once and keeps.
 */
import { spawn, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import WebSocket from 'ws'
import { type Bench, type Context, freshFolder } from './bench.ts'
import { notAvailable, type Result, resultOf } from './result.ts'

export const idleSockets: Bench = { name: 'idle sockets', measure }

const PROGRAM = fileURLToPath(new URL('./idle-server.js', import.meta.url))
const MIB = 1024 * 1024
const MANY = 10_000
const AT_ONCE = 100
/** Files that a process needs beside its sockets. */
const SPARE_FILES = 500
const HELD = 'idle sockets held'
const AT_LEAST_MANY = { of: 'value', bound: 'at least', limit: MANY } as const

interface Held {
  readonly bytes: number
  readonly connections: number
}

async function measure(context: Context): Promise<readonly Result[]> {
  const few = context.quick ? 10 : 1000
  const token = randomBytes(24).toString('hex')
  const child = spawn(process.execPath, ['--expose-gc', PROGRAM, freshFolder(context, 'idle'), token], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const next = async (): Promise<Record<string, unknown>> => JSON.parse((await lines.next()).value ?? '{}')
  const look = async (): Promise<Held> => {
    child.stdin.write('\n')
    return (await next()) as unknown as Held
  }
  /** What arriving costs is let go first. */
  const settled = async (): Promise<Held> => {
    await look()
    return await look()
  }
  const sockets: WebSocket[] = []
  try {
    const url = String((await next()).chatUrl)
    const alone = await look()
    await openUpTo(few, sockets, url, token)
    const some = await settled()
    const hindrance = context.quick ? 'a quick look does not open 10,000 sockets' : whyNotMany()
    if (hindrance !== null) context.say(hindrance)
    else await openUpTo(MANY, sockets, url, token)
    const all = hindrance === null ? await settled() : some
    const perSocket = (all.bytes - alone.bytes) / sockets.length
    return [
      resultOf({
        name: 'memory of an idle server',
        value: alone.bytes / MIB,
        unit: 'MiB',
        target: { of: 'value', bound: 'at most', limit: 130 },
      }),
      resultOf({ name: `memory with ${few} idle sockets`, value: some.bytes / MIB, unit: 'MiB' }),
      resultOf({
        name: 'memory of one idle socket',
        value: perSocket / 1024,
        unit: 'KiB',
        target: { of: 'value', bound: 'at most', limit: 20 },
      }),
      hindrance === null
        ? resultOf({ name: HELD, value: all.connections, unit: 'sockets', target: AT_LEAST_MANY })
        : notAvailable(HELD, 'sockets', AT_LEAST_MANY),
    ]
  } finally {
    for (const socket of sockets) socket.terminate()
    child.stdin.end()
    child.kill('SIGKILL')
  }
}

function whyNotMany(): string | null {
  return filesAllowed() < MANY + SPARE_FILES ? 'too few open files are allowed here' : null
}

async function openUpTo(count: number, sockets: WebSocket[], url: string, token: string): Promise<void> {
  while (sockets.length < count) {
    const batch = Array.from({ length: Math.min(AT_ONCE, count - sockets.length) }, () => openOne(url, token))
    sockets.push(...(await Promise.all(batch)))
  }
}

function openOne(url: string, token: string): Promise<WebSocket> {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(url, { headers: { authorization: `Bearer ${token}` } })
    socket.once('open', () => resolve(socket))
    socket.once('error', reject)
  })
}

function filesAllowed(): number {
  const { stdout } = spawnSync('/bin/sh', ['-c', 'ulimit -n'], { encoding: 'utf8' })
  const text = stdout.trim()
  return text === 'unlimited' ? Number.POSITIVE_INFINITY : Number(text)
}
