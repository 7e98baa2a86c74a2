/** The stderr of a child: line by line, escaped, and not without end. */
import { STDERR_LINE_MAX, STDERR_LINES_MAX } from './limits.ts'
import { visible } from './visible.ts'

export function lineTeller(tell: (line: string) => void): (chunk: Uint8Array) => void {
  const decoder = new TextDecoder()
  let kept = ''
  let told = 0
  const line = (text: string): void => {
    if (told > STDERR_LINES_MAX) return
    told += 1
    tell(told > STDERR_LINES_MAX ? 'and more, which is not shown' : visible(text.trimEnd(), STDERR_LINE_MAX))
  }
  return (chunk) => {
    if (told > STDERR_LINES_MAX) return
    const [first = '', ...rest] = decoder.decode(chunk, { stream: true }).split('\n')
    kept = `${kept}${first}`.slice(0, STDERR_LINE_MAX + 1)
    for (const next of rest) {
      if (kept.trim() !== '') line(kept)
      kept = next.slice(0, STDERR_LINE_MAX + 1)
    }
  }
}
