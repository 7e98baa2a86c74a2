/** The lines of a tool client: however the bytes arrive in chunks, the same frames come out, and each is sorted into one kind. */

import { isRequestId, readFrame } from '../../../src/broker/frame.ts'
import { FrameSplitter, type SplitFrame } from '../../../src/broker/frame-splitter.ts'
import { canonical } from '../../../src/core/index.ts'
import { must, plain, presentable, pure, type Target } from '../target.ts'

export const mcpFrames: Target = {
  name: 'mcp-frames',
  property:
    'chunks do not change which frames a stream holds; a request has a short id and plain parameters, and a broken frame says why in a fault of the table',
  seeds: [
    '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"a","version":"1"}}}\n',
    '{"jsonrpc":"2.0","method":"notifications/initialized"}\n\r\n{"jsonrpc":"2.0","id":"a","method":"tools/list"}',
    '{"jsonrpc":"2.0","id":"x.1","method":"tools/call","params":{"name":"look","arguments":{"a":[1]}}}\n{"jsonrpc":"2.0","id":1,"result":{}}\n',
    '[{"jsonrpc":"2.0","id":1,"method":"ping"}]\n{"id":7,"jsonrpc":"2.0","method":',
  ],
  words: [
    '"jsonrpc":"2.0"',
    '"id":',
    '"method":',
    '"params":',
    '"result":',
    '"error":',
    '\n',
    '\r\n',
    'null',
    '"tools/call"',
  ],
  bytesMax: 4096,
  steps: { fixed: 5000, perByte: 200 },
  open: () => pure(check),
}

function check(input: Uint8Array): void {
  const whole = framesOf([input])
  for (const { frame } of whole) {
    if (frame.kind === 'Broken') {
      presentable(frame.problem)
      must(frame.id === null || isRequestId(frame.id), 'the id of a broken frame is one that a request may have')
    }
    if (frame.kind === 'Request') must(isRequestId(frame.id), 'the id of a request is a short text or a whole number')
    if (frame.kind === 'Request' || frame.kind === 'Notification') {
      plain(frame.params)
      const again = readFrame(
        Buffer.from(
          canonical({
            jsonrpc: '2.0',
            ...('id' in frame ? { id: frame.id } : {}),
            method: frame.method,
            params: frame.params,
          }),
        ),
      )
      must(canonical({ ...again }) === canonical({ ...frame }), 'a frame that is written again reads as itself')
    }
  }
  const said = told(whole)
  const middle = input.length >> 1
  const cuts = [1, middle, input.length - 1].filter((at) => at > 0 && at < input.length)
  for (const at of cuts)
    must(told(framesOf([input.subarray(0, at), input.subarray(at)])) === said, `a cut at ${at} changes nothing`)
  must(
    told(framesOf(Array.from(input, (byte) => Uint8Array.of(byte)))) === said,
    'bytes that come one by one change nothing',
  )
}

function framesOf(chunks: readonly Uint8Array[]): readonly SplitFrame[] {
  const splitter = new FrameSplitter()
  const frames = chunks.flatMap((chunk) => [...splitter.push(chunk)])
  const rest = splitter.end()
  must(splitter.end() === null, 'behind the end stands nothing')
  return rest === null ? frames : [...frames, rest]
}

function told(frames: readonly SplitFrame[]): string {
  return JSON.stringify(
    frames.map(({ frame, bytes }) => [bytes, frame.kind === 'Broken' ? [frame.id, frame.problem.message] : frame]),
  )
}
