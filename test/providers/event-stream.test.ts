import fc from 'fast-check'
import { expect, test } from 'vitest'
import { EventStream } from '../../src/providers/event-stream.ts'

const STREAM =
  ': hello\nevent: note\ndata: one é🦊\n\ndata:two\ndata: \ndata\ndata:  three\nid: 7\n\n\n\nretry: 5\n\ndata: [DONE]\n\n'
const EVENTS = ['one é🦊', 'two\n\n\n three', '[DONE]']

test.each([['\n'], ['\r\n'], ['\r']])('events with the line end %j are the same however the bytes are cut', (end) => {
  const bytes = Buffer.from(STREAM.replaceAll('\n', end))
  const cuts = fc.array(fc.integer({ min: 0, max: bytes.length }), { maxLength: 40 })
  fc.assert(
    fc.property(cuts, (at) => {
      const stream = new EventStream()
      const places = [0, ...at.sort((left, right) => left - right), bytes.length]
      const events = places.flatMap((place, index) => stream.push(bytes.subarray(place, places[index + 1])))
      expect(events).toEqual(EVENTS)
    }),
  )
  const single = new EventStream()
  expect([...bytes].flatMap((byte) => single.push(Uint8Array.of(byte)))).toEqual(EVENTS)
})

test('mixed line ends are read alike, byte by byte and at once', () => {
  const bytes = Buffer.from('data: x\r\n\ndata: y\r\n\rdata: z\n\r\n')
  const single = new EventStream()
  expect([...bytes].flatMap((byte) => single.push(Uint8Array.of(byte)))).toEqual(['x', 'y', 'z'])
  expect(new EventStream().push(bytes)).toEqual(['x', 'y', 'z'])
})

test('an event that is not finished by an empty line does not exist', () => {
  expect(new EventStream().push(Buffer.from('data: [DONE]\n'))).toEqual([])
})

test('a byte order mark in front is no part of the first line', () => {
  expect(new EventStream().push(Buffer.from('\ufeffdata: x\n\n'))).toEqual(['x'])
})

test('bytes that are not UTF-8 are an error', () => {
  expect(() => new EventStream().push(Uint8Array.of(0x64, 0xff))).toThrow(TypeError)
})
