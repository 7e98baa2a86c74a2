/**
 * Chat connections as bytes on a socket, for tests that open thousands: an upgrade, and then one of the ways in which a
 * connection ends. No library stands between, so that what a client leaves out is left out.
 */
import { connect, type Socket } from 'node:net'

/** A close frame with code 1000, masked with zeros as a client's must be. */
const CLOSE = Buffer.from([0x88, 0x82, 0, 0, 0, 0, 0x03, 0xe8])

/** The bytes of a text message of a client. */
export function textFrame(text: string): Buffer {
  const body = Buffer.from(text)
  const length =
    body.length < 126 ? Buffer.from([0x80 | body.length]) : Buffer.from([0xfe, body.length >> 8, body.length & 0xff])
  return Buffer.concat([Buffer.from([0x81]), length, Buffer.alloc(4), body])
}

function upgrade({ pathname, search, host }: URL): string {
  return [
    `GET ${pathname}${search} HTTP/1.1`,
    `Host: ${host}`,
    'Connection: Upgrade',
    'Upgrade: websocket',
    'Sec-WebSocket-Version: 13',
    'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
    '\r\n',
  ].join('\r\n')
}

/** Resolves with an open chat; rejects when the server answers anything but the upgrade. */
export function openRawChat(url: string): Promise<Socket> {
  const target = new URL(url)
  return new Promise((resolve, reject) => {
    const socket = connect(Number(target.port), target.hostname)
    socket.once('error', reject)
    socket.once('data', (data) => {
      socket.off('error', reject)
      socket.on('error', () => undefined) // however it ends
      socket.resume()
      if (data.toString('latin1').startsWith('HTTP/1.1 101')) resolve(socket)
      else reject(new Error(`the upgrade was answered with ${data.toString('latin1').slice(0, 40)}`))
    })
    socket.write(upgrade(target))
  })
}

export type Ending = (url: string) => Promise<void>

function gone(socket: Socket): Promise<void> {
  return socket.closed ? Promise.resolve() : new Promise((resolve) => socket.once('close', () => resolve()))
}

/** The ways in which a connection ends, by what the server sees. */
export const ENDINGS: Readonly<Record<string, Ending>> = {
  politely: async (url) => {
    const socket = await openRawChat(url)
    socket.write(CLOSE)
    await gone(socket)
  },
  'with a reset and no close frame': async (url) => {
    const socket = await openRawChat(url)
    socket.resetAndDestroy()
    await gone(socket)
  },
  'with an end and no close frame': async (url) => {
    const socket = await openRawChat(url)
    socket.end()
    await gone(socket)
  },
  'after a message that is none': async (url) => {
    const socket = await openRawChat(url)
    socket.write(textFrame('{'))
    socket.write(CLOSE)
    await gone(socket)
  },
  'inside a frame': async (url) => {
    const socket = await openRawChat(url)
    socket.write(textFrame('{"type":"ChatSend"}').subarray(0, 9))
    socket.resetAndDestroy()
    await gone(socket)
  },
  'refused for its token': async (url) => {
    await openRawChat(url.replace(/token=.*/, 'token=wrong')).then(
      () => Promise.reject(new Error('a wrong token was let in')),
      () => undefined,
    )
  },
  'inside the request': async (url) => {
    const target = new URL(url)
    const socket = connect(Number(target.port), target.hostname)
    socket.on('error', () => undefined)
    socket.write(upgrade(target).slice(0, 60))
    socket.once('connect', () => socket.resetAndDestroy())
    await gone(socket)
  },
}
