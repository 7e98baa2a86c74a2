/**
 * A tool server over stdio, on frames written by hand, so that it can break the protocol in every way.
 *
 *     node stdio-server.mjs MODE [EFFECTS_FILE]
 *
 * The mode says what it lists (`tools.mjs`), or how it greets: `babbles`, `exits`, `mute`, `stubborn`. The tool `misbehave`
 * takes the way in which a call goes wrong. The mode may be `@FILE`: then the file holds it, and is read at every list.
 */
import { appendFileSync, readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { toolsIn } from './tools.mjs'

const [given = 'honest', effects = ''] = process.argv.slice(2)
const mode = () => (given.startsWith('@') ? readFileSync(given.slice(1), 'utf8').trim() : given)

/** @param {string} text */
const write = (text) => process.stdout.write(text)
/** @param {object} message */
const send = (message) => write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
/** @param {any} id @param {string} content @param {object} [more] */
const say = (id, content, more = {}) => send({ id, result: { content: [{ type: 'text', text: content }], ...more } })

if (mode() === 'exits') process.exit(3)
if (mode() === 'babbles') write('Server is listening!\n')
if (mode() === 'stubborn') {
  process.on('SIGTERM', () => undefined)
  setInterval(() => undefined, 1000)
}
process.stderr.write(`hello \u001b[31mred\u001b[0m\npid ${process.pid}\n`)

/** @type {Record<string, (id: any) => unknown>} */
const WAYS = {
  late: () => undefined,
  twice: (id) => {
    const answer = (/** @type {string} */ text) =>
      JSON.stringify({ jsonrpc: '2.0', id, result: { content: [{ type: 'text', text }] } })
    write(`${answer('one')}\n${answer('two')}\n`)
  },
  'twice-later': (id) => {
    say(id, 'one')
    earlier = id
  },
  'other-id': (id) => say(id + 1000, 'not yours'),
  'text-id': (id) => say(String(id), 'nearly yours'),
  'invalid-json': (id) => write(`{"jsonrpc":"2.0","id":${id},"result":{"content":[],}}\n`),
  'equal-names': (id) => write(`{"jsonrpc":"2.0","id":${id},"result":{"content":[]},"result":{}}\n`),
  garbage: (id) => {
    write('done!\n')
    say(id, 'fine')
  },
  'no-result': (id) => send({ id, result: { content: 'text' } }),
  exits: () => process.exit(7),
  huge: (id) => say(id, 'x'.repeat(900 * 1024)),
  'too-long': (id) => say(id, 'x'.repeat(1024 * 1024)),
  'error-answer': (id) => send({ id, error: { code: -32602, message: 'no such \u001b[2Jthing' } }),
  pid: (id) => say(id, String(process.pid)),
  asks: (id) => {
    for (const method of ['sampling/createMessage', 'roots/list', 'elicitation/create']) {
      send({ id: `ask-${method}`, method, params: {} })
    }
    asked = id
  },
  floods: () => {
    for (let ask = 0; ask < 1000; ask += 1) send({ id: `ask-${ask}`, method: 'ping' })
  },
  babbles: () => write('{"jsonrpc":"2.0","method":"a"}\n'.repeat(30_000)),
  storms: (id) => {
    listed = 0
    let changes = 0
    const timer = setInterval(() => {
      changes += 1
      send({ method: 'notifications/tools/list_changed' })
      if (changes < 50 || listed === 0) return
      clearInterval(timer)
      say(id, `${listed}`)
    }, 1)
  },
  changes: (id) => {
    send({ method: 'notifications/tools/list_changed' })
    say(id, 'changed')
  },
  mixed: (id) =>
    send({
      id,
      result: {
        content: [
          { type: 'text', text: 'first' },
          { type: 'image', mimeType: 'image/png', data: 'AAAA' },
          { type: 'resource', resource: { uri: 'file:///a', text: 'inside' } },
          { type: 'hologram' },
        ],
      },
    }),
  structured: (id) => send({ id, result: { content: [], structuredContent: { b: 1, a: [true] } } }),
}

/** @type {number | null} */
let earlier = null
let listed = 0
/** @type {unknown} */
let asked = null
/** @type {string[]} */
const refusals = []

/** @param {any} id @param {any} params */
function call(id, { name, arguments: args }) {
  switch (name) {
    case 'echo':
      if (earlier !== null) say(earlier, 'two')
      return say(id, args.text)
    case 'note':
      appendFileSync(effects, `${args.line}\n`)
      return say(id, 'noted')
    case 'fail':
      return say(id, 'it did not work', { isError: true })
    case 'misbehave':
      if (effects !== '') appendFileSync(effects, `${args.how}\n`)
      return WAYS[args.how]?.(id)
    default:
      return send({ id, error: { code: -32602, message: `no tool ${name}` } })
  }
}

/** @param {any} message */
function take(message) {
  const { id, method, params } = message
  switch (method) {
    case 'initialize':
      if (mode() === 'mute') return
      return send({
        id,
        result: {
          protocolVersion: params.protocolVersion,
          capabilities: { tools: { listChanged: true } },
          serverInfo: { name: 'test', version: '1' },
        },
      })
    case 'tools/list': {
      // two pages, where there are enough tools for two
      const tools = toolsIn(mode())
      const half = Math.ceil(tools.length / 2)
      if (params?.cursor === undefined) listed += 1
      if (params?.cursor === undefined)
        return send({ id, result: { tools: tools.slice(0, half), nextCursor: 'second' } })
      return send({ id, result: { tools: tools.slice(half) } })
    }
    case 'tools/call':
      return call(id, params)
    case 'notifications/cancelled':
      if (effects !== '') appendFileSync(effects, `cancelled ${params.reason}\n`)
      return say(params.requestId, 'too late')
    case undefined:
      refusals.push(`${id} ${message.error?.code}`)
      if (refusals.length === 3) say(asked, refusals.join('\n'))
      return
    default:
      return
  }
}

createInterface({ input: process.stdin }).on('line', (line) => take(JSON.parse(line)))
