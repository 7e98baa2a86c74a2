/**
 * `symbi chat`: a message with a text argument, a sitting at the terminal without one. Reads flags and finds the server;
 * leaves the turn to `conversation.ts` and the words to `teller.ts`.
 */
import { type Command, Option } from 'commander'
import { Fault, idOrNull, newId } from '../../core/index.ts'
import { addCommand, type Cli, type CommonOptions, type ExitCode } from '../cli.ts'
import { findToken, findUrl, isExposed } from '../credentials.ts'
import { oneLine } from '../plain-text.ts'
import { inputText } from '../standard-input.ts'
import { projectWords } from '../terminal.ts'
import { typed } from '../typed.ts'
import { Conversation, type Mode } from './conversation.ts'
import { interactive } from './interactive.ts'
import { Link } from './link.ts'
import { oneShot } from './one-shot.ts'
import { jsonTeller, type Teller, textTeller } from './teller.ts'

/** A longer text is not repeated in the line that looks its id up. */
const LOOK_UP_TEXT_MAX = 200

interface ChatOptions {
  readonly id?: string
  readonly inspect?: true
  readonly url?: string
  readonly tokenFile?: string
  readonly wait: string
  readonly token?: string | true
}

export function register(program: Command, cli: Cli, exit: ExitCode): void {
  addCommand<ChatOptions>(program, exit, {
    name: 'chat',
    summary: 'talk to the coordinator: with a text, one message; without, a conversation',
    args: [['[text...]', 'the message; "-" reads it from standard input']],
    options: [
      new Option('--id <uuid>', 'the id of the message; it is looked up before anything is sent'),
      new Option('--inspect', 'only look up what became of --id and this text; starts nothing'),
      new Option('--url <ws://…>', 'the address of the chat (default: of the server of the project)'),
      new Option('--token-file <file>', 'the token (default: SYMBI_TOKEN, then .symbiont/chat.token of the project)'),
      new Option('--wait <seconds>', 'how long to look for the answer after a lost connection').default('300'),
      new Option('--token [token]').hideHelp(),
    ],
    action: async (options, words) => {
      refuseToken(options)
      const id = chosenId(options.id)
      const content = await contentOf(cli, words)
      refuseHalf(options, content)
      const waitMsMax = waitMs(options.wait)
      const token = await findToken(cli, options)
      const url = await findUrl(cli, options)
      if (isExposed(url)) cli.console.note('warning: the token and the chat cross the network unencrypted; use wss://')
      const teller = tellerFor(cli, options, content)
      await using conversation = new Conversation({
        world: cli.world,
        connect: async (signal) => Link.open({ url: await findUrl(cli, options), token }, cli.world, signal),
        onProgress: (progress) => teller.progress(progress),
        waitMsMax,
      })
      if (content === null) {
        await conversation.connect(new AbortController().signal)
        return await interactive(cli, conversation, teller)
      }
      const mode: Mode = options.inspect === true ? 'look' : id === null ? 'send' : 'resume'
      const message = { id: id ?? newId('invocation', cli.world.random), content, mode }
      return await oneShot(cli, conversation, teller, message)
    },
  })
}

/** Known only to be refused: an unknown flag would be repeated in the message, with the secret in it. */
function refuseToken({ token }: ChatOptions): void {
  if (token === undefined) return
  throw new Fault('USAGE', {
    message: 'Cannot take a token from the command line: every user of this machine could read it there',
    hint: 'Give it in a file with --token-file, or in SYMBI_TOKEN, and replace the token that was shown',
  })
}

function chosenId(text: string | undefined): string | null {
  if (text === undefined) return null
  const id = idOrNull('invocation', text)
  if (id !== null) return id
  throw new Fault('INVALID_INVOCATION_ID', {
    message: `Cannot use the id ${JSON.stringify(text.slice(0, 80))}: it is not a UUID of 36 characters, or it is nil`,
    hint: 'Give a hyphenated UUID, such as the one that an earlier "symbi chat" printed',
  })
}

/** Null when there is no text: then it is a conversation. */
async function contentOf({ console }: Cli, words: readonly string[]): Promise<string | null> {
  if (words.length === 0) return null
  if (words.length > 1 || words[0] !== '-') return words.join(' ')
  return await inputText(console, 'the message')
}

function refuseHalf({ id, inspect }: ChatOptions, content: string | null): void {
  const usage = (message: string, hint: string): Fault => new Fault('USAGE', { message, hint })
  if (content !== null && content.trim() === '') {
    throw usage('Cannot send the message: it is empty', 'Give a text, or none for a conversation')
  }
  if (inspect === true && id === undefined) {
    throw usage('Cannot look up a message without its id', 'Give --id with the id that was printed before it was sent')
  }
  if (id !== undefined && content === null) {
    throw usage('Cannot use --id without a text: an id belongs to one text', 'Give the text that the id was sent with')
  }
}

function waitMs(text: string): number {
  const seconds = /^\d{1,6}$/.test(text) ? Number(text) : Number.NaN
  if (Number.isSafeInteger(seconds)) return seconds * 1000
  throw new Fault('USAGE', {
    message: `Cannot use --wait ${JSON.stringify(text.slice(0, 40))}: it is not a number of seconds`,
    hint: 'Give a whole number such as 300',
  })
}

function tellerFor(cli: Cli, options: ChatOptions & CommonOptions, content: string | null): Teller {
  if (options.json === true) return jsonTeller(cli)
  const flags = [
    ...projectWords(options.project),
    ...(options.url === undefined ? [] : ['--url', options.url]),
    ...(options.tokenFile === undefined ? [] : ['--token-file', options.tokenFile]),
  ]
  const text = content === null || content.length > LOOK_UP_TEXT_MAX ? 'THE SAME TEXT' : oneLine(content)
  return textTeller(cli, {
    project: options.project,
    ownServer: options.url === undefined,
    brief: content === null,
    lookUpLine: (id) => typed('chat', '--inspect', '--id', id, ...flags, text),
  })
}
