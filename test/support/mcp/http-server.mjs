/**
 * A tool server over streamable HTTP, written by hand, so that it can break the protocol in every way. Answers with JSON, or
 * with events where the mode says so.
 *
 *     node http-server.mjs MODE [EFFECTS_FILE]      prints its URL
 */
import { appendFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { fileURLToPath } from 'node:url'
import { toolsIn } from './tools.mjs'

/**
 * @typedef {{ mode?: string, events?: boolean, effects?: string, token?: string }} Options
 * @typedef {import('node:http').ServerResponse} Answer
 */

/**
 * @param {Options} options
 */
export async function startHttpServer(options = {}) {
  const state = { mode: 'honest', events: false, ...options }
  /** @type {Set<string>} */
  const sessions = new Set()
  /** @type {{ method: string, rpc: string | null, headers: import('node:http').IncomingHttpHeaders }[]} */
  const seen = []
  /** @type {Answer | null} */
  let waiting = null
  /** @type {Set<Answer>} */
  const held = new Set()
  const server = createServer(async (request, answer) => {
    const pieces = []
    for await (const piece of request) pieces.push(piece)
    const text = Buffer.concat(pieces).toString('utf8')
    const message = text === '' ? null : JSON.parse(text)
    seen.push({ method: request.method ?? '', rpc: message?.method ?? null, headers: request.headers })
    if (state.token !== undefined && request.headers.authorization !== state.token) return answer.writeHead(401).end()
    if (request.method === 'DELETE') {
      sessions.delete(String(request.headers['mcp-session-id']))
      return answer.writeHead(200).end()
    }
    if (request.method !== 'POST') return answer.writeHead(405).end()
    if (message.method === 'notifications/cancelled' && state.mode === 'endless') {
      held.add(answer)
      answer.once('close', () => held.delete(answer))
      return void answer.writeHead(202).write('and ')
    }
    if (message.method === 'notifications/cancelled' && state.mode === 'deaf') return
    if (message.method === 'notifications/cancelled' && state.mode === 'busy') return answer.writeHead(202).end()
    if (message.method === 'notifications/cancelled') {
      waiting?.end(`{"jsonrpc":"2.0","id":${message.params.requestId},"result":{"content":[]}}`)
    }
    if (message.method !== 'initialize' && !sessions.has(String(request.headers['mcp-session-id']))) {
      return answer.writeHead(404).end()
    }
    return take(message, answer)
  })

  /** @param {any} message @param {Answer} answer */
  function take(message, answer) {
    const { id, method, params } = message
    const reply = (/** @type {object} */ body, headers = {}) => {
      const text = JSON.stringify({ jsonrpc: '2.0', ...body })
      if (state.events) {
        answer.writeHead(200, { 'content-type': 'text/event-stream', ...headers })
        return answer.end(`id: 1\ndata:\n\nevent: message\ndata: ${text}\n\n`)
      }
      return answer.writeHead(200, { 'content-type': 'application/json', ...headers }).end(text)
    }
    switch (method) {
      case 'initialize': {
        const session = `s${sessions.size + 1}-${seen.length}`
        sessions.add(session)
        const serverInfo = { name: 'test', version: '1' }
        const result = { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo }
        return reply({ id, result }, { 'mcp-session-id': session })
      }
      case 'tools/list':
        return reply({ id, result: { tools: toolsIn(state.mode) } })
      case 'tools/call':
        return call(id, params, answer, reply)
      default:
        return answer.writeHead(202).end()
    }
  }

  /** @param {any} id @param {any} params @param {Answer} answer @param {(body: object) => unknown} reply */
  function call(id, { name, arguments: args }, answer, reply) {
    const say = (/** @type {string} */ text, own = id) =>
      reply({ id: own, result: { content: [{ type: 'text', text }] } })
    if (name === 'echo') return say(args.text)
    if (name === 'note') {
      appendFileSync(state.effects ?? '', `${args.line}\n`)
      return say('noted')
    }
    if (state.effects !== undefined) appendFileSync(state.effects, `${args.how}\n`)
    const json = { 'content-type': 'application/json' }
    const events = { 'content-type': 'text/event-stream' }
    const event = (/** @type {object} */ body) => `data: ${JSON.stringify({ jsonrpc: '2.0', ...body })}\n\n`
    switch (args.how) {
      case 'other-id':
        return say('not yours', id + 1000)
      case 'invalid-json':
        return answer.writeHead(200, json).end(`{"jsonrpc":"2.0","id":${id},"result":{},}`)
      case 'redirect':
        return answer.writeHead(307, { location: '/elsewhere' }).end()
      case 'error-500':
        return answer.writeHead(500, json).end('{}')
      case 'hangs-up':
        return answer.socket?.destroy()
      case 'too-long':
        return say('x'.repeat(1024 * 1024))
      case 'huge':
        return say('x'.repeat(900 * 1024))
      case 'page':
        return answer.writeHead(200, { 'content-type': 'text/html' }).end('<p>hello')
      case 'no-answer':
        return answer
          .writeHead(200, events)
          .end(event({ method: 'notifications/message', params: { level: 'info', data: 1 } }))
      case 'twice': {
        const one = event({ id, result: { content: [{ type: 'text', text: 'one' }] } })
        return answer.writeHead(200, events).end(one + one)
      }
      case 'babbles':
        return answer.writeHead(200, events).end(event({ method: 'a' }).repeat(30_000))
      case 'holds': // answers, and never ends the stream
        held.add(answer)
        answer.once('close', () => held.delete(answer))
        return answer.writeHead(200, events).write(event({ id, result: { content: [{ type: 'text', text: 'held' }] } }))
      case 'forgets':
        sessions.clear()
        return answer.writeHead(404).end()
      case 'drifts':
        state.mode = 'drifted'
        return say('drifted')
      default:
        if (state.mode === 'busy') {
          held.add(answer)
          answer.once('close', () => held.delete(answer))
          if (args.how === 'late-events') answer.writeHead(200, events).write(': soon\n\n')
          return undefined
        }
        waiting = answer.writeHead(200, json) // late: at the earliest when it is taken back
        return undefined
    }
  }

  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)))
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    port,
    state,
    seen,
    sessions,
    held,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve(undefined))
        server.closeAllConnections()
      }),
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [mode = 'honest', effects] = process.argv.slice(2)
  const { url } = await startHttpServer({ mode, ...(effects === undefined ? {} : { effects }) })
  process.stdout.write(`${url}\n`)
}
