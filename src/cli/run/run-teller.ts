/**
 * What a person or a program is told of a run. The agent, the question and the answer go to stdout; where the evidence lies and
 * what happens meanwhile go to stderr. With `--json` stdout holds one object, when the run has ended.
 */
import type { InvocationId } from '../../core/index.ts'
import type { DelegationTarget } from '../../delegation/index.ts'
import type { NewEntry } from '../../events/index.ts'
import { NO_APPROVER, type PolicyNews } from '../../policy/index.ts'
import { type AgentRun, type AuditReference, RUN_SCOPE, type RunResult } from '../../runtime/index.ts'
import type { Cli } from '../cli.ts'
import { jsonLine, oneLine, plain } from '../plain-text.ts'
import { Spinner } from '../spinner.ts'
import { columnsOf, notePaint, type Paint, projectWords } from '../terminal.ts'
import { typed } from '../typed.ts'
import { type ProgressLine, runProgress } from './run-progress.ts'

const PREVIEW_COLUMNS = 200
const TAG_COLUMNS = 10

export interface RunFacts {
  readonly target: DelegationTarget
  readonly input: string
  readonly id: InvocationId
  readonly project: string
  readonly json?: true
}

export class RunTeller {
  readonly #cli: Cli
  readonly #facts: RunFacts
  readonly #paint: Paint
  readonly #spinner: Spinner
  readonly #progressOf = runProgress()
  #isOpened = false
  /** True once it was said how somebody could be asked. */
  #wasAskedInVain = false

  constructor(cli: Cli, facts: RunFacts) {
    this.#cli = cli
    this.#facts = facts
    this.#paint = notePaint(cli)
    this.#spinner = new Spinner(cli)
  }

  /** Before anything is claimed, so that the id is known whatever happens next. */
  begin(): void {
    const { target, input, id, json } = this.#facts
    const { name, description, sandbox_tier } = target
    if (json !== true) {
      this.#cli.console.result(`Agent: ${name} (${oneLine(description, PREVIEW_COLUMNS)})`)
      this.#cli.console.result(`Input: ${oneLine(input, PREVIEW_COLUMNS)}`)
    }
    this.#note(`Invocation ID: ${id}`)
    if (sandbox_tier === null) return
    this.#note(`Sandbox ${sandbox_tier}: nothing to isolate, because no tool of this run starts a process`)
  }

  policies(news: PolicyNews): void {
    switch (news.kind) {
      case 'Loaded':
        if (news.policies === 0) this.#note('Policies: none, so every tool call is denied')
        break
      case 'Kept':
      case 'Refused':
        this.#note(`Policies: cannot be used: ${oneLine(news.problem.message)}`)
        break
      case 'Emptied':
        this.#note('Policies: all gone, so everything is denied')
        break
    }
  }

  opened(audit: AuditReference): void {
    this.#isOpened = true
    this.#note(`Audit run: ${audit.run_id}`)
    this.#note(`Audit journal: ${oneLine(audit.path)}`)
    this.#note(`Audit public key: ${audit.public_key}`)
    this.#spinner.start('starting')
  }

  entry(entry: NewEntry): void {
    for (const line of this.#progressOf(entry)) this.#progress(line)
    if (this.#wasAskedInVain || !lacksApprover(entry)) return
    this.#wasAskedInVain = true
    this.#note('hint: Start it in a terminal with --approval-terminal, and it asks there before such a call')
  }

  cancelling(): void {
    this.#note('Cancelling: no further effect begins, and the end of the run is recorded')
  }

  end(ran: AgentRun, cancelled: boolean): void {
    this.#spinner.stop()
    const audit = 'audit' in ran ? ran.audit : null
    if (audit !== null && !this.#isOpened) {
      this.opened(audit)
      this.#spinner.stop()
    }
    if (ran.kind === 'Recorded' && ran.replayed) this.#note('Replayed: the saved result; nothing ran now')
    if (ran.kind === 'Recorded') this.#tellEnd(ran.result)
    const { json, id } = this.#facts
    if (ran.kind === 'Reconciled') {
      const { resolution } = ran
      this.#cli.console.result(jsonLine({ status: 'reconciled', resolution, work_repeated: false }))
    } else if (json === true) {
      this.#cli.console.result(jsonLine({ ...this.#report(ran, cancelled), invocation_id: id, audit }))
    } else if (ran.kind === 'Recorded' && ran.result.completed) {
      this.#cli.console.result(plain(ran.result.output))
    }
    this.#advise(ran, audit)
  }

  /** Nothing moves while a person is asked something; the answer makes it go on. */
  hush(): () => void {
    this.#spinner.stop()
    return () => this.#spinner.start('waiting')
  }

  /** Nothing moves on the screen any more; whatever happened, somebody else says it. */
  stop(): void {
    this.#spinner.stop()
  }

  #progress({ tag, text }: ProgressLine): void {
    const bad = tag === 'DENIED' || tag === 'FAILED'
    const columns = bad ? Number.POSITIVE_INFINITY : columnsOf(this.#cli) - TAG_COLUMNS
    const style = bad ? 'red' : tag === 'model' ? 'dim' : tag === 'allowed' ? 'green' : 'cyan'
    this.#note(`${this.#paint(style, tag.padEnd(TAG_COLUMNS))}${oneLine(text, columns)}`)
    this.#spinner.say(tag === 'call' ? `running ${oneLine(text, 40)}` : 'waiting')
  }

  #tellEnd({ iterations, total_tokens, termination_reason }: RunResult): void {
    this.#note(`${iterations} iterations, ${total_tokens} tokens, terminated: ${reasonText(termination_reason)}`)
  }

  #report(ran: Exclude<AgentRun, { kind: 'Reconciled' }>, cancelled: boolean): object {
    if (ran.kind === 'InProgress') return { status: 'in_progress' }
    if (ran.kind === 'Unresolved') return { status: 'unresolved' }
    const { version: _, completed, ...result } = ran.result
    const status = completed ? 'completed' : cancelled && !ran.replayed ? 'cancelled' : 'failed'
    const { name, principal } = this.#facts.target
    return { status, agent: name, principal, replayed: ran.replayed, ...result }
  }

  #advise(ran: AgentRun, audit: AuditReference | null): void {
    const project = projectWords(this.#facts.project)
    const { id } = this.#facts
    if (ran.kind === 'InProgress') this.#note('In progress: another process runs it; ask again later with the same id')
    if (ran.kind === 'Reconciled') this.#note('Reconciled: an operator has assessed this run; it never runs again')
    if (ran.kind === 'Unresolved') {
      this.#note('Unresolved: what this run did is not known for certain, so it is not repeated')
      this.#note(`Inspect it: ${typed('invocation', 'inspect', '--scope', RUN_SCOPE, '--id', id, ...project)}`)
    } else if (audit !== null) this.#note(`Verify it: ${typed('audit', 'verify', audit.run_id, ...project)}`)
  }

  #note(line: string): void {
    this.#cli.console.note(line)
    this.#spinner.show()
  }
}

/** A call was refused because there is nobody to ask. */
function lacksApprover({ event }: NewEntry): boolean {
  if (event.kind !== 'PolicyEvaluated') return false
  return (event.denied_calls ?? []).some(
    ({ denied_by, reason }) => denied_by === 'approval' && String(reason).endsWith(NO_APPROVER),
  )
}

function reasonText(reason: RunResult['termination_reason']): string {
  if (typeof reason === 'string') return reason
  return 'Error' in reason
    ? `Error: ${oneLine(reason.Error.message)}`
    : `PolicyDenial: ${oneLine(reason.PolicyDenial.reason)}`
}
