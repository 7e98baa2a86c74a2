/** What schedules, channels, webhooks and memories may hold: their fields, and the values of each (1.7). */
import type { Channel, Expression, Memory, Schedule, SubBlock, Webhook } from '../tree.ts'
import { textOf } from './found.ts'
import { isCron, isInstant, isTimeZone } from './times.ts'

export type BlockKind = (Schedule | Channel | Memory | Webhook)['kind']

export interface FieldForm {
  readonly accepts: (value: Expression) => boolean
  /** What it takes, for people. */
  readonly takes: string
  /** As it is written. */
  readonly example: string
}

const isText = (value: Expression): boolean => textOf(value) !== null && textOf(value) !== ''
const isTruth = (value: Expression): boolean =>
  value.kind === 'boolean' || textOf(value) === 'true' || textOf(value) === 'false'
const isTexts = (value: Expression): boolean => value.kind === 'array' && value.items.every(isText)
const oneOf =
  (...words: readonly string[]) =>
  (value: Expression): boolean =>
    words.includes(textOf(value) ?? '')

const text = (example: string): FieldForm => ({ accepts: isText, takes: 'a text', example })
const truth = (example: string): FieldForm => ({ accepts: isTruth, takes: 'true or false', example })
const weight = (example: string): FieldForm => ({
  accepts: (value) => value.kind === 'number' && Number(value.text.replaceAll('_', '')) <= 1,
  takes: 'a number from 0 to 1',
  example,
})

export const FORMS: Readonly<Record<BlockKind | 'search' | 'filter', Readonly<Record<string, FieldForm>>>> = {
  schedule: {
    cron: {
      accepts: (value) => value.kind === 'string' && isCron(value.value),
      takes: 'six fields: second, minute, hour, day, month, day of the week, and perhaps a year',
      example: 'cron: "0 30 2 * * *"',
    },
    at: {
      accepts: (value) => value.kind === 'string' && isInstant(value.value),
      takes: 'a date and time with its offset',
      example: 'at: "2030-01-31T08:00:00Z"',
    },
    timezone: {
      accepts: (value) => isTimeZone(textOf(value) ?? ''),
      takes: 'the name of a time zone',
      example: 'timezone: "Europe/Rome"',
    },
    agent: text('agent: "reviewer"'),
    policy: text('policy: "name"'),
    audit: {
      accepts: oneOf('none', 'errors_only', 'all_operations'),
      takes: 'none, errors_only or all_operations',
      example: 'audit: all_operations',
    },
    one_shot: truth('one_shot: true'),
    deliver: {
      accepts: (value) => value.kind === 'string' && /^[a-z][a-z0-9+.-]*:\/\/\S+$/.test(value.value),
      takes: 'an address with its kind',
      example: 'deliver: "slack://ops"',
    },
  },
  channel: {
    platform: text('platform: "slack"'),
    workspace: text('workspace: "docs"'),
    channels: { accepts: isTexts, takes: 'a list of texts', example: 'channels: ["ops"]' },
    default_agent: text('default_agent: "reviewer"'),
    dlp_profile: text('dlp_profile: "strict"'),
    audit_level: text('audit_level: "full"'),
    default_deny: truth('default_deny: true'),
  },
  webhook: {
    path: text('path "/in"'),
    provider: {
      accepts: oneOf('github', 'stripe', 'slack', 'custom'),
      takes: 'github, stripe, slack or custom',
      example: 'provider github',
    },
    secret: {
      accepts: (value) => isText(value) || value.kind === 'vault-url',
      takes: 'a text or a vault address',
      example: 'secret vault://webhooks/in',
    },
    agent: text('agent reviewer'),
  },
  filter: {
    json_path: text('json_path "$.action"'),
    equals: text('equals "opened"'),
    contains: text('contains "review"'),
  },
  memory: {
    store: { accepts: oneOf('markdown'), takes: 'markdown, the only store', example: 'store markdown' },
    path: text('path "data/agents"'),
    retention: {
      accepts: (value) => value.kind === 'duration' && value.amount > 0,
      takes: 'a duration',
      example: 'retention 90d',
    },
  },
  search: { vector_weight: weight('vector_weight 0.7'), keyword_weight: weight('keyword_weight 0.3') },
}

/** Any category can be classified. */
const CLASSIFIED: FieldForm = {
  accepts: oneOf('redact', 'block', 'allow'),
  takes: 'redact, block or allow',
  example: 'personal: redact',
}

/** Undefined for a field that the block does not have. */
export function fieldForm(where: BlockKind | SubBlock['name'], key: string): FieldForm | undefined {
  if (where === 'data_classification') return CLASSIFIED
  return Object.hasOwn(FORMS[where], key) ? FORMS[where][key] : undefined
}

export function fieldsOf(where: BlockKind | SubBlock['name']): readonly string[] {
  return where === 'data_classification' ? [] : Object.keys(FORMS[where])
}
