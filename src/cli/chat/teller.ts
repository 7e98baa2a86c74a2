/**
 * What a person or a program is told of a turn. Answers go to stdout; everything else a person reads goes to stderr, and
 * a program gets one object a line on stdout. Nothing that came from the server reaches a terminal as it came.
 */
import type { AuditReference } from '../../events/index.ts'
import type { Cli } from '../cli.ts'
import { jsonLine, oneLine, plain } from '../plain-text.ts'
import { Spinner, seconds } from '../spinner.ts'
import { columnsOf, notePaint, type Paint, projectWords } from '../terminal.ts'
import { typed } from '../typed.ts'
import { exitOf, type Outcome, type Progress, statusOf } from './conversation.ts'
import type { ServerSaid } from './server-message.ts'

export interface Teller {
  /** Before the message leaves, so that the id is known whatever happens next. */
  begin(id: string): void
  progress(progress: Progress): void
  end(outcome: Outcome): void
  /** What a cancelled message means now. */
  afterwards(outcome: Outcome): void
  /** Nothing was sent, and somebody else says why. */
  abandon(): void
}

/** The line that looks an id up without starting anything. */
export type LookUpLine = (id: string) => string

export function jsonTeller({ console }: Cli): Teller {
  let id = ''
  let audit: AuditReference | null = null
  const write = (event: string, members: object): void => console.result(jsonLine({ event, id, ...members }))
  return {
    begin: (fresh) => {
      id = fresh
      audit = null
      write('id', {})
    },
    progress: (progress) => {
      if (progress.kind !== 'Said') {
        const { kind, ...members } = progress
        write(EVENTS[kind], members)
        return
      }
      const { type, request_id: _, ...members } = progress.message
      if (progress.message.type === 'AuditOpened') audit = progress.message.audit
      write(EVENTS[type], members)
    },
    end: (outcome) => {
      const { kind: _, ...members } = outcome
      write('result', { status: statusOf(outcome), exit: exitOf(outcome), ...members, audit })
    },
    afterwards: (outcome) => {
      const { kind: _, ...members } = outcome
      write('afterwards', { status: statusOf(outcome), ...members, audit })
    },
    abandon: () => undefined,
  }
}

const EVENTS: Readonly<Record<Exclude<Progress['kind'], 'Said'> | ServerSaid['type'], string>> = {
  Sending: 'sending',
  LookingUp: 'looking_up',
  Lost: 'connection_lost',
  InProgress: 'in_progress',
  AuditOpened: 'audit',
  ChatChunk: 'chunk',
  ToolCallStarted: 'tool_call',
  ToolCallResult: 'tool_result',
  PolicyDecision: 'decision',
  Error: 'error',
}

export interface TextTellerOptions {
  readonly project: string
  readonly lookUpLine: LookUpLine
  /** True when the server is the one of the project, so that its evidence lies there. */
  readonly ownServer: boolean
  /** Between messages of one sitting, what was explained once is not explained again. */
  readonly brief: boolean
}

export function textTeller(cli: Cli, options: TextTellerOptions): Teller {
  return new TextTeller(cli, options)
}

class TextTeller implements Teller {
  readonly #cli: Cli
  readonly #options: TextTellerOptions
  readonly #paint: Paint
  readonly #spinner: Spinner
  #id = ''
  #audit: AuditReference | null = null

  constructor(cli: Cli, options: TextTellerOptions) {
    this.#cli = cli
    this.#options = options
    this.#paint = notePaint(cli)
    this.#spinner = new Spinner(cli)
  }

  begin(id: string): void {
    this.#id = id
    this.#audit = null
    this.#line('id', id, 'dim')
    this.#spinner.start('connecting')
  }

  progress(progress: Progress): void {
    switch (progress.kind) {
      case 'Sending':
        this.#spinner.say('waiting for the model')
        return
      case 'LookingUp':
        this.#spinner.say('looking the id up')
        return
      case 'Lost':
        this.#line('lost', `${oneLine(progress.reason, 200)}; looking again in ${seconds(progress.retryMs)}`, 'yellow')
        this.#spinner.say('reconnecting')
        return
      case 'InProgress':
        this.#spinner.say('the turn is in progress')
        return
      case 'Said':
        this.#said(progress.message)
        return
    }
  }

  end(outcome: Outcome): void {
    this.#spinner.stop()
    switch (outcome.kind) {
      case 'Answered':
        if (outcome.replayed) this.#line('replayed', 'the saved answer; nothing ran now', 'cyan')
        this.#cli.console.result(plain(outcome.content))
        break
      case 'Refused':
        this.#line('error', `${oneLine(outcome.code, 64)}: ${oneLine(outcome.message)}`, 'red')
        break
      case 'Unknown':
        this.#line('unknown', oneLine(outcome.reason), 'yellow')
        break
      case 'Cancelled':
        this.#line('cancelled', outcome.sent ? CANCELLED : 'nothing was sent', 'yellow')
        break
    }
    const advice = this.#advice(outcome)
    if (advice !== null) this.#line('next', advice, 'dim')
    if (this.#audit !== null) this.#line('verify', this.#verifyLine(this.#audit), 'dim')
  }

  afterwards(outcome: Outcome): void {
    this.#line('now', statusOf(outcome).replaceAll('_', ' '), 'yellow')
    this.end(outcome)
  }

  abandon(): void {
    this.#spinner.stop()
  }

  #said(message: ServerSaid): void {
    const columns = columnsOf(this.#cli)
    switch (message.type) {
      case 'AuditOpened': {
        if (this.#audit?.run_id === message.audit.run_id) return
        this.#audit = message.audit
        this.#line('run', message.audit.run_id, 'dim')
        if (!this.#options.brief) this.#line('journal', oneLine(message.audit.path), 'dim')
        return
      }
      case 'PolicyDecision': {
        const { decision, reason } = message
        const action = message.action === '1 actions' ? '1 action' : message.action
        if (decision === 'allow') this.#line('allowed', oneLine(`${action}: ${reason}`, columns - 12), 'green')
        else this.#line('DENIED', oneLine(`${action}: ${reason}`), 'red')
        return
      }
      case 'ToolCallStarted':
        this.#spinner.say(`running ${oneLine(message.tool_name, 40)}`)
        this.#line('call', oneLine(`${message.tool_name} ${message.arguments}`, columns - 12), 'cyan')
        return
      case 'ToolCallResult':
        this.#spinner.say('waiting for the model')
        if (message.is_error) this.#line('FAILED', oneLine(message.result), 'red')
        else this.#line('result', oneLine(message.result, columns - 12), 'cyan')
        return
      case 'ChatChunk':
      case 'Error':
        return // the last message says it all
    }
  }

  #advice(outcome: Outcome): string | null {
    const line = this.#options.lookUpLine(this.#id)
    if (outcome.kind === 'Cancelled') return outcome.sent ? `look it up with: ${line}` : null
    if (outcome.kind === 'Unknown') {
      return `the id may have run. Look it up with: ${line}`
    }
    if (outcome.kind !== 'Refused') return null
    switch (outcome.code) {
      case 'INVOCATION_IN_PROGRESS':
        return `ask again with: ${line}`
      case 'INVOCATION_UNRESOLVED':
        return typed(
          'invocation',
          'inspect',
          '--scope',
          'ws:chat:v1',
          '--id',
          this.#id,
          ...projectWords(this.#options.project),
        )
      case 'SESSION_BUSY':
      case 'AUDIT_UNAVAILABLE':
        return `the same id and text may be sent again; look first with: ${line}`
      default:
        return null
    }
  }

  /** The project's own journals are found by their run; of another server only the path is known. */
  #verifyLine({ path, run_id }: AuditReference): string {
    const { project, ownServer } = this.#options
    if (ownServer) return typed('audit', 'verify', run_id, ...projectWords(project))
    return typed('audit', 'verify', oneLine(path), '--run-id', run_id, '--public-key', 'THE KEY THAT WAS KEPT')
  }

  #line(tag: string, text: string, style: Parameters<Paint>[0]): void {
    this.#cli.console.note(`${this.#paint(style, tag.padEnd(10))} ${style === 'red' ? this.#paint(style, text) : text}`)
    this.#spinner.show()
  }
}

const CANCELLED = 'the connection was closed, so the server stops the turn and records its end'
