/** All targets, from the outside to the inside. A parser that gets a door gets a line here. */
import type { Target } from './target.ts'
import { approvalFiles } from './targets/approval-files.ts'
import { brokerSession } from './targets/broker-session.ts'
import { chatFrame } from './targets/chat-frame.ts'
import { claimFile } from './targets/claim-file.ts'
import { httpRequests } from './targets/http-requests.ts'
import { journalEntries } from './targets/journal-entries.ts'
import { journalLines } from './targets/journal-lines.ts'
import { keyFile } from './targets/key-file.ts'
import { mcpFrames } from './targets/mcp-frames.ts'
import { policyFiles } from './targets/policy-files.ts'
import { policyText } from './targets/policy-text.ts'
import { anthropicStream, openAiStream } from './targets/provider-stream.ts'
import { receiptFile, reviewFile } from './targets/reconciliation.ts'
import { envFile, settingsToml, upstreamConfig } from './targets/settings-files.ts'
import { strictJson } from './targets/strict-json.ts'
import { symbiSource } from './targets/symbi-source.ts'
import { toolArguments } from './targets/tool-arguments.ts'
import { toolCall } from './targets/tool-call.ts'
import { pinFile, upstreamFrames } from './targets/upstream-frames.ts'
import { upstreamHttp } from './targets/upstream-http.ts'

export const TARGETS: readonly Target[] = [
  strictJson,
  chatFrame,
  httpRequests,
  mcpFrames,
  toolCall,
  brokerSession,
  toolArguments,
  journalLines,
  journalEntries,
  claimFile,
  receiptFile,
  reviewFile,
  approvalFiles,
  symbiSource,
  policyText,
  policyFiles,
  settingsToml,
  envFile,
  upstreamConfig,
  keyFile,
  upstreamFrames,
  upstreamHttp,
  pinFile,
  openAiStream,
  anthropicStream,
]
