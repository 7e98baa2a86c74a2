/** What the log, or a person who waits, hears of tool servers. */
import type { UpstreamNews } from '../runtime/index.ts'
import type { Log } from '../server/index.ts'
import type { Console } from './console.ts'
import { oneLine } from './plain-text.ts'

export function logUpstreams(log: Log, news: UpstreamNews): void {
  switch (news.kind) {
    case 'Pinned':
      log.write('warn', 'tools were seen for the first time, and pinned', {
        server: news.server,
        tools: news.tools,
      })
      break
    case 'Unavailable':
      {
        const { server, tool, reason } = news
        log.write('warn', tool === null ? 'tool server cannot be used' : 'tool cannot be used', {
          server,
          tool,
          reason,
        })
      }
      break
    case 'Lost':
      log.write('warn', 'tool server was lost', { server: news.server, reason: news.reason })
      break
    case 'Said':
      log.write('info', 'tool server says', { server: news.server, line: news.line })
  }
}

/** What a server says to its stderr is for logs: here it would stand between the lines of a run. */
export function noteUpstreams({ note }: Console, news: UpstreamNews): void {
  switch (news.kind) {
    case 'Pinned':
      note(`Tools of "${news.server}" seen for the first time, and pinned: ${oneLine(news.tools.join(', '), 400)}`)
      break
    case 'Unavailable':
      note(
        oneLine(
          `Cannot use ${news.tool === null ? '' : `"${news.tool}" of `}the tool server "${news.server}": ${news.reason}`,
        ),
      )
      break
    case 'Lost':
      note(oneLine(`The tool server "${news.server}" was lost: ${news.reason}`))
      break
    case 'Said':
  }
}
