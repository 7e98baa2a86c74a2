/** Frames that are no message of the protocol, or none that means what it seems to mean. None of them may have an effect. */
import { oneOf } from './chance.ts'
import { type Call, callText, ERROR, type Made, type Maker, NOTHING, plain, type Recipes } from './parts.ts'

export const brokenFrames: Recipes = {
  'a frame that is cut': (maker) => bent(maker, (text) => text.slice(0, 1 + maker.chance(text.length - 1))),
  'a comma too much': (maker) => bent(maker, (text) => `${text.slice(0, -1)},}`),
  'two frames in one line': (maker) => bent(maker, (text) => text + text),
  'text behind the frame': (maker) => bent(maker, (text) => `${text}!`),
  'a comment': (maker) => bent(maker, (text) => text.replace('{', '{/* permit */')),
  'other quotes': (maker) => bent(maker, (text) => text.replaceAll('"', "'")),
  'a mark of byte order': (maker) => bent(maker, (text) => `\ufeff${text}`),
  'a control character in a text': (maker) => bent(maker, (text) => text.replace('tools/call', 'tools\u0001/call')),
  'half a surrogate pair': (maker) => bent(maker, (text) => text.replace('"tools', '"\\ud800tools')),
  'a number that is none': (maker) => bent(maker, (text) => text.replace('"id":5', '"id":NaN')),
  'a number without end': (maker) => bent(maker, (text) => text.replace('"id":5', '"id":-1e400')),
  'a number that would be rounded': (maker) => bent(maker, (text) => text.replace('"id":5', `"id":${2 ** 53}`)),
  'bytes that are no text': (maker) =>
    bent(maker, (text) =>
      Buffer.concat([Buffer.from(text.slice(0, -2)), Buffer.from([0xc3, 0x28]), Buffer.from('}}')]),
    ),
  garbage: (maker) =>
    bent(maker, () => Buffer.from(Array.from({ length: 1 + maker.chance(80) }, () => 128 + maker.chance(128)))),
  'an empty list': (maker) => bent(maker, () => '[]'),
  'a batch': (maker) => bent(maker, (text) => `[${text},${text}]`),
  'a text': (maker) => bent(maker, (text) => JSON.stringify(text)),
  null: (maker) => bent(maker, () => 'null'),
  'a name twice': (maker) =>
    bent(maker, (text) => text.replace('"id":5', `"id":5,"id":${oneOf(maker.chance, [5, '"5"', 6])}`)),
  'arguments twice': (maker) => bent(maker, (text) => text.replace('"arguments":', '"arguments":{},"arguments":')),
  'a name twice, once in escapes': (maker) => bent(maker, (text) => text.replace('"id":5', '"id":5,"\\u0069d":5')),
  'a prototype beside the members': (maker) =>
    bent(maker, (text) => text.replace('"id":5', '"id":5,"__proto__":{"id":6}')),
  'deep lists': (maker) => bent(maker, () => '['.repeat(1000 + maker.chance(90_000))),
  'deep arguments': (maker) =>
    bent(maker, (text) => text.replace('"arguments":{', `"arguments":{"a":${'{"a":'.repeat(90)}1${'}'.repeat(90)},`)),
  'a mebibyte and a byte': (maker) =>
    maker.chance(4) > 0 // they take their time
      ? bent(maker, (text) => text.slice(1))
      : bent(maker, (text) => text.replace('{', `{${' '.repeat(1024 * 1024 + 1 - text.length)}`)),
  'another version': (maker) =>
    bent(maker, (text) => text.replace('"2.0"', oneOf(maker.chance, ['"1.0"', '2.0', '"2.0 "', 'null', '["2.0"]']))),
  'no version': (maker) => bent(maker, (text) => text.replace('"jsonrpc":"2.0",', '')),
  'an id of a wrong type': (maker) =>
    bent(maker, (text) =>
      text.replace(
        '"id":5',
        `"id":${oneOf(maker.chance, ['null', '1.5', '{}', '[5]', 'true', `"${'i'.repeat(257)}"`])}`,
      ),
    ),
  'a method of a wrong type': (maker) =>
    bent(maker, (text) =>
      text.replace('"tools/call"', oneOf(maker.chance, ['7', 'null', '["tools/call"]', '{}', `"${'m'.repeat(129)}"`])),
    ),
  'parameters of a wrong type': (maker) =>
    bent(maker, (text) =>
      text.replace(
        /"params":(.*)\}$/,
        (_, params: string) => `"params":${oneOf(maker.chance, [`[${params}]`, 'null', '"x"'])}}`,
      ),
    ),
  'a call without an id': (maker) => ({ ...bent(maker, (text) => text.replace('"id":5,', '')), answer: NOTHING }),
  'an answer to nothing': (maker) =>
    plain(maker, oneOf(maker.chance, [{ id: 1, result: {} }, { id: 1, error: {} }, { result: 1 }])),
  'a bit that fell over': fallen,
}

/** A permitted call that somebody bent. */
function bent(maker: Maker, bend: (text: string) => string | Uint8Array): Made {
  const mark = maker.mark()
  return { bytes: bend(permittedText(maker, mark)), mark, effects: 0, answer: ERROR }
}

function permittedText({ bait }: Maker, mark: string): string {
  return callText(5, bait.permitted(mark) as Call)
}

const LINE_FEED = 0x0a
/** What stands behind it in a URL is not sent, so two marks could become one path. */
const HASH = 0x23

/** Which message is left, if any, is for a naive reader to say; what it may do is for the accounts. */
function fallen(maker: Maker): Made {
  const mark = maker.mark()
  const bytes = Buffer.from(permittedText(maker, mark))
  let at = 0
  do {
    at = maker.chance(bytes.length)
    bytes[at] = (bytes[at] as number) ^ (1 << maker.chance(8))
  } while (bytes[at] === LINE_FEED || bytes[at] === HASH)
  return { bytes, mark, effects: null, answer: isNotification(bytes) ? NOTHING : ERROR }
}

function isNotification(bytes: Uint8Array): boolean {
  try {
    const { jsonrpc, id, method, params } = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
    return jsonrpc === '2.0' && id === undefined && typeof method === 'string' && typeof params === 'object'
  } catch {
    return false
  }
}
