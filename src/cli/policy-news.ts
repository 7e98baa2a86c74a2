/** What the log says when the policies of the project were read, or could not be. */
import type { Fault } from '../core/index.ts'
import type { PolicyNews } from '../policy/index.ts'
import type { Log, LogFacts } from '../server/index.ts'

export function logPolicies(log: Log, news: PolicyNews): void {
  switch (news.kind) {
    case 'Loaded':
      log.write('info', 'policies in force', { policies: news.policies, files: news.files })
      break
    case 'Kept':
      log.write('error', 'changed policies cannot be used, the ones from before stay in force', facts(news.problem))
      break
    case 'Refused':
      log.write('error', 'policies cannot be used, everything is denied', facts(news.problem))
      break
    case 'Emptied':
      log.write('warn', 'all policies are gone, everything is denied')
      break
  }
}

function facts({ code, message, hint }: Fault): LogFacts {
  return { code, problem: message, hint: hint ?? null }
}
