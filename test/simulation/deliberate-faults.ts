/**
 * Deliberate faults: what a careless change could do to the runtime, one row each, as an edit of the built program. The proof
 * beside this file switches on one after the other and expects the simulator to object with the name of the law.
 *
 * A text to find stands in its file exactly once. Where the runtime keeps a law twice, a row takes both away: one fault behind
 * a second wall is no fault that anybody outside could see.
 */
import type { LawName } from '../../src/testing/simulation/laws/law.ts'

export interface Edit {
  /** Below dist. */
  readonly file: string
  readonly find: string
  readonly replace: string
}

export interface DeliberateFault {
  /** As a sentence about the runtime that has it. */
  readonly name: string
  readonly edits: readonly Edit[]
  /** The first law that objects is one of these. */
  readonly caughtBy: readonly LawName[]
  /** The seed of the first life, for a fault that does not show in the one that all others begin with. */
  readonly from?: number
}

const WRITER = 'journal/writer.js'
const DISPATCH = 'dispatch/dispatch-grants.js'
const AUTHORISE = 'dispatch/authorise.js'
const BATCH = 'tools/batch.js'
const CLAIMS = 'invocations/file-claims.js'
const OWNER = 'invocations/file-owner.js'
const QUEUE = 'policy/approvals/queue.js'
const CALLS = 'session/calls.js'
const CHILD = 'delegation/child-run.js'
const IDENTIFIED = 'session/identified-call.js'
const UPSTREAM = 'upstream/upstream.js'
/** Shown only by clients that start processes of their own. */
const STDIO = 'broker/stdio-door.js'

const SYNC = 'await this.#file.syncData();'
const WRITE = 'await this.#file.append(lines.length === 1 ? lines[0] : Buffer.concat(lines));'
const EXECUTE = 'const executed = await execute(scope, grants, dispatches, runKey, signal);'
const PERFORM =
  'const outcome = await means.workers.perform(scope.runKey, async (stop) => tool.run(args, { signal: stop, effects: scope.effectsOf(authorised), deadlineMs: scope.deadlineMs }), signal);'
const performAgain = (when: string): string =>
  `${PERFORM.replace('const outcome', 'let outcome')}
    if (outcome.kind === '${when}') outcome = await means.workers.perform(scope.runKey, async (stop) => tool.run(args, { signal: stop, effects: scope.effectsOf(authorised), deadlineMs: scope.deadlineMs }), new AbortController().signal);`

/** The writer's own latch behind the loop and the session. */
const NO_LATCH: Edit = { file: WRITER, find: 'let latched = unconfirmed;', replace: 'return false;' }
/** The journal is not asked before a result is written. */
const NO_READING_BACK: Edit = {
  file: OWNER,
  find: 'if (needsReconciling(await readRun(this.#world, place, claim, this.audit)))',
  replace: 'if (false)',
}
/** The journal is not asked before a result is repeated. */
const NO_READING_AGAIN: Edit = {
  file: 'invocations/assessment.js',
  find: 'const { run, resolution } = await assess(world, place, bytes, lines, receipt);',
  replace:
    'if (lines.result !== null) return stateOf(lines, false, null);\n    const { run, resolution } = await assess(world, place, bytes, lines, receipt);',
}

export const DELIBERATE_FAULTS: readonly DeliberateFault[] = [
  // law 1: policy, then intent, then effect
  {
    name: 'a tool does not wait for its intent',
    edits: [
      { file: DISPATCH, find: 'await scope.recorder.commit(', replace: 'void scope.recorder.commit(' },
      {
        file: DISPATCH,
        find: 'tool_name: source,\n    })));',
        replace: 'tool_name: source,\n    }))).catch(() => undefined);',
      },
    ],
    caughtBy: ['intent before effect'],
  },
  {
    name: 'decision and intent are written behind the effect',
    edits: [
      { file: DISPATCH, find: EXECUTE, replace: '' },
      { file: DISPATCH, find: 'await scope.recorder.commit(', replace: `${EXECUTE}\n    await scope.recorder.commit(` },
    ],
    caughtBy: ['intent before effect'],
  },
  {
    name: 'the journal is not synced',
    edits: [{ file: WRITER, find: SYNC, replace: '' }],
    caughtBy: ['intent before effect', 'unknown is no success'],
  },
  {
    name: 'the journal is synced before it is written',
    edits: [
      { file: WRITER, find: SYNC, replace: '' },
      { file: WRITER, find: WRITE, replace: `${SYNC}\n        ${WRITE}` },
    ],
    caughtBy: ['intent before effect', 'unknown is no success'],
  },
  {
    name: 'the journal acknowledges before its sync is over',
    edits: [{ file: WRITER, find: SYNC, replace: 'this.#file.syncData().catch(() => undefined);' }],
    caughtBy: ['intent before effect'],
  },
  {
    name: 'the journal takes a failed sync for a good one',
    edits: [{ file: WRITER, find: SYNC, replace: 'await this.#file.syncData().catch(() => undefined);' }],
    caughtBy: ['intent before effect', 'evidence verifies'],
    from: 20,
  },
  {
    name: 'the name of a new journal is not synced',
    edits: [{ file: WRITER, find: 'await world.files.syncDirectory(directory);', replace: '' }],
    caughtBy: ['intent before effect'],
  },
  {
    name: 'a request does not wait for its own intent',
    edits: [
      {
        file: 'dispatch/effect-journal.js',
        find: "await scope.recorder.commit({\n                    kind: 'ToolEffect',",
        replace: "scope.recorder.stage({\n                    kind: 'ToolEffect',",
      },
    ],
    caughtBy: ['intent before effect'],
  },
  {
    name: 'a model is asked before its tokens are durably reserved',
    edits: [
      {
        file: 'budget/reservation.js',
        find: 'await unlessAborted(start, signal);',
        replace: "start.catch(() => undefined);\n        this.#state = 'asked';",
      },
    ],
    caughtBy: ['intent before effect', 'budgets are not minted'],
  },
  // law 2: at most once
  {
    name: 'a grant is spent twice',
    edits: [
      { file: 'calls/grant.js', find: 'unspent.delete(grant)', replace: 'unspent.has(grant)' },
      {
        file: 'tools/run.js',
        find: 'return toolbox.execute(calls, scope, signal);',
        replace:
          'await toolbox.execute(calls, scope, signal);\n    return toolbox.execute(grants.map((grant) => spend(grant)), scope, signal);',
      },
    ],
    caughtBy: ['at most once'],
  },
  {
    name: 'a tool that did not answer in time is tried again',
    edits: [{ file: BATCH, find: PERFORM, replace: performAgain('Stopped') }],
    caughtBy: ['at most once'],
  },
  {
    name: 'a tool that threw is tried again',
    edits: [{ file: BATCH, find: PERFORM, replace: performAgain('Threw') }],
    caughtBy: ['at most once'],
  },
  {
    name: 'a claim is created though one exists',
    edits: [
      {
        file: CLAIMS,
        find: "if (found !== null)\n                return await lockedClaim(found, 'Found');",
        replace:
          'if (found !== null) {\n                await found.close();\n                await this.#world.files.unlink(place.claim);\n            }',
      },
    ],
    caughtBy: ['at most once', 'evidence is kept'],
  },
  {
    name: 'the name of a new claim is not synced',
    edits: [
      {
        file: CLAIMS,
        find: 'await writer.append(claimLine(claim));\n            await this.#world.files.syncDirectory(place.store);',
        replace: 'await writer.append(claimLine(claim));',
      },
    ],
    caughtBy: ['at most once'],
  },
  {
    name: 'an identified call whose end is unknown is made again',
    edits: [
      {
        file: IDENTIFIED,
        find: 'import { inTurn, makeCall, orPoison, refuseEnded } from',
        replace: 'import { inTurn, makeCall, orPoison, raceDispatch, refuseEnded } from',
      },
      {
        file: IDENTIFIED,
        find: "if (known.kind !== 'NotFound')\n            return existingOutcome(known);",
        replace: `if (known.kind === 'Unresolved' && known.audit !== null) {
            const raced = await raceDispatch(state, { toolbox: state.setup.toolbox, action, presented }, signal);
            return { kind: 'Recorded', observation: raced.value[0], audit: known.audit, replayed: false, hint: null };
        }
        if (known.kind !== 'NotFound')
            return existingOutcome(known);`,
      },
    ],
    caughtBy: ['at most once', 'unknown is no success'],
  },
  {
    name: 'a call over standard input has its id for this once',
    edits: [
      {
        file: STDIO,
        find: 'session.callOnce(call, { id, caller: CALLER }, inner, given)',
        replace: "session.callOnce(call, { id: newId('invocation', world.random), caller: CALLER }, inner, given)",
      },
    ],
    caughtBy: ['at most once', 'unknown is no success'],
  },
  {
    name: 'each process on standard input is a caller of its own',
    edits: [
      {
        file: STDIO,
        find: 'session.callOnce(call, { id, caller: CALLER }, inner, given)',
        replace: "session.callOnce(call, { id, caller: digest(['mcp', 'stdio', session.audit.run_id]) }, inner, given)",
      },
    ],
    caughtBy: ['claims answer the evidence'],
  },

  // law 3: unknown never becomes success
  {
    name: 'a tool that threw has answered',
    edits: [
      {
        file: BATCH,
        find: "return { observation: failure(call, errorText(outcome.error)), settled: 'Failed' };",
        replace:
          "return { observation: { ...labelOf(call), content: 'done', is_error: false }, settled: 'Succeeded' };",
      },
    ],
    caughtBy: ['unknown is no success'],
  },
  {
    name: 'a tool that did not answer in time has answered',
    edits: [
      {
        file: DISPATCH,
        find: "return { results: expected.map((call) => unknownResult(call, reason, timedOut ? 'timeout' : undefined)), journals };",
        replace:
          "return { results: expected.map((call) => ({ source: call.source, content: 'done', is_error: false, call_id: call.callId })), journals };",
      },
    ],
    caughtBy: ['unknown is no success'],
  },
  {
    name: 'a client is told that an unconfirmed call was done',
    edits: [
      {
        file: 'broker/results.js',
        find: 'if (isUnconfirmed(observation))\n        return unknown(content);',
        replace: 'if (isUnconfirmed(observation))\n        return done(content);',
      },
    ],
    caughtBy: ['unknown is no success'],
  },
  {
    name: 'a client is told of a call before its receipt is durable',
    edits: [
      {
        file: 'dispatch/dispatcher.js',
        find: "await recorder.commit({\n        kind: 'ToolBatchCompleted',",
        replace: "recorder.commit({\n        kind: 'ToolBatchCompleted',",
      },
      {
        file: 'dispatch/dispatcher.js',
        find: 'duration: durationOf(world.clock.monotonicMs() - startedMs),\n    });',
        replace: 'duration: durationOf(world.clock.monotonicMs() - startedMs),\n    }).catch(() => undefined);',
      },
    ],
    caughtBy: ['unknown is no success'],
    from: 18,
  },
  {
    name: 'a result is told before it is durable',
    edits: [{ file: OWNER, find: 'await writer.sync();', replace: '' }],
    caughtBy: ['unknown is no success', 'claims answer the evidence'],
  },
  {
    name: 'an answer does not wait for its claim',
    edits: [
      {
        file: 'invocations/run-once.js',
        find: 'const { kind } = await owner.finish(result);',
        replace: "owner.finish(result).catch(() => undefined);\n        const kind = 'Recorded';",
      },
      { file: 'invocations/run-once.js', find: 'await owner.release();', replace: 'owner.release();' },
    ],
    caughtBy: ['unknown is no success', 'claims answer the evidence'],
  },
  {
    name: 'a poisoned session ends well',
    edits: [
      {
        file: 'session/ending.js',
        find: 'const failed = state.poisoned || left !== null;',
        replace: 'const failed = left !== null;',
      },
    ],
    caughtBy: ['unknown is no success'],
  },
  {
    name: 'a delegated run is given another answer than its own',
    edits: [
      {
        file: CHILD,
        find: 'return { reason: result.termination_reason, output: result.output };',
        replace: 'return { reason: result.termination_reason, output: result.output + " forged" };',
      },
    ],
    caughtBy: ['unknown is no success'],
  },
  {
    name: 'a delegated run is believed whatever its journal answers',
    edits: [
      {
        file: CHILD,
        find: 'await requireProven(world, journal, result);',
        replace:
          'const forged = { ...result, output: result.output + " forged" };\n        await requireProven(world, journal, forged);',
      },
      {
        file: CHILD,
        find: 'output: result.output };',
        replace: 'output: forged.output };',
      },
      { file: CHILD, find: 'if (answerIn(prefix.entries) !== result.output)', replace: 'if (false)' },
    ],
    caughtBy: ['unknown is no success'],
  },
  {
    name: 'a delegated run is believed though its end is not recorded',
    edits: [
      { file: CHILD, find: 'await requireProven(world, journal, result);', replace: '' },
      {
        file: CHILD,
        find: 'log: journal,',
        replace:
          "log: { audit: journal.audit, append: (entries) => journal.append(entries.filter(({ event }) => event.kind !== 'Terminated')) },",
      },
    ],
    caughtBy: ['unknown is no success'],
  },
  {
    name: 'a run ends before the runs that it began',
    edits: [
      {
        file: 'loop/lifecycle.js',
        find: 'const children = await cleanUp(run, async () => await delegates?.cleanUp(runKey));',
        replace: 'const children = null;\n    void cleanUp(run, async () => await delegates?.cleanUp(runKey));',
      },
    ],
    caughtBy: ['unknown is no success'],
    from: 17,
  },
  {
    name: 'a saved result is repeated that its journal does not hold',
    edits: [
      {
        file: 'coordinator/saved-result.js',
        find: "output: completed ? result.output : '',",
        replace: "output: completed ? result.output + ' forged' : '',",
      },
      {
        file: 'invocations/assessment.js',
        find: "if (state.kind === 'Recorded' && agrees?.(state.result, run.entries) === false)",
        replace: 'if (false)',
      },
    ],
    caughtBy: ['unknown is no success', 'claims answer the evidence'],
  },
  {
    name: 'a foreign server that answers twice is believed',
    edits: [
      {
        file: UPSTREAM,
        find: 'if (connection.broken !== null)\n            throw failed(connection.broken);',
        replace: '',
      },
    ],
    caughtBy: ['unknown is no success', 'stop after uncertainty'],
    from: 12,
  },
  {
    name: 'a foreign answer in a wrong shape is taken for its text',
    edits: [
      {
        file: 'upstream/answer.js',
        find: "if (!Array.isArray(content) || typeof isError !== 'boolean')\n        throw malformed();",
        replace: 'if (!Array.isArray(content))\n        return { content: String(content), is_error: false };',
      },
    ],
    caughtBy: ['unknown is no success', 'stop after uncertainty'],
    from: 89,
  },
  // law 4: stop after uncertainty
  {
    name: 'a run goes on after an unconfirmed outcome',
    edits: [NO_LATCH, { file: 'loop/observe.js', find: 'if (acted.unconfirmed)', replace: 'if (false)' }],
    caughtBy: ['stop after uncertainty'],
    from: 12,
  },
  {
    name: 'a session goes on after an unconfirmed outcome',
    edits: [NO_LATCH, { file: CALLS, find: 'if (isUnconfirmed(observation))', replace: 'if (false)' }],
    caughtBy: ['stop after uncertainty'],
    from: 39,
  },
  {
    name: 'a poisoned session takes calls',
    edits: [
      NO_LATCH,
      {
        file: 'session/state.js',
        find: 'this.#poisoned = true;\n        this.stop();',
        replace: 'this.#poisoned = true;',
      },
      { file: CALLS, find: 'if (state.closing || state.poisoned)', replace: 'if (state.closing)' },
    ],
    caughtBy: ['stop after uncertainty'],
  },
  // what becomes of every call
  {
    name: 'a reply is decided about in part, and nothing is said of the rest',
    edits: [
      {
        file: 'dispatch/authorise-batch.js',
        find: 'for (const action of actions)\n        verdicts.push(',
        replace: 'for (const action of actions.slice(0, 1))\n        verdicts.push(',
      },
    ],
    caughtBy: ['every call is accounted for'],
  },
  {
    name: 'a denial is counted, and not recorded',
    edits: [
      {
        file: 'dispatch/authorise-batch.js',
        find: 'denied_calls: denied.map(({ evidence }) => evidence),',
        replace: 'denied_calls: [],',
      },
    ],
    caughtBy: ['every call is accounted for'],
  },
  {
    name: 'a model hears nothing of its denials',
    edits: [{ file: 'loop/gate.js', find: 'tellDenial(run, denial);', replace: 'denial;' }],
    caughtBy: ['every call is accounted for'],
  },
  {
    name: 'a session records no result of a denied call',
    edits: [
      {
        file: 'dispatch/dispatcher.js',
        find: "await recorder.commit({\n        kind: 'ToolBatchCompleted',\n        iteration: recorder.iteration,\n        observations,",
        replace:
          "await recorder.commit({\n        kind: 'ToolBatchCompleted',\n        iteration: recorder.iteration,\n        observations: executed,",
      },
    ],
    caughtBy: ['every call is accounted for'],
  },
  {
    name: 'the answer to a request is recorded behind the receipt of its call',
    edits: [
      {
        file: 'tools/http/exchange.js',
        find: 'await effects.record({ NetworkRequestFinished: { request_id, status, ...hashes, response_bytes, error: null } });',
        replace: `const later = async () => {
            for (let turns = 0; turns < 200; turns += 1) await null;
            await effects.record({ NetworkRequestFinished: { request_id, status, ...hashes, response_bytes, error: null } });
        };
        later().catch(() => undefined);`,
      },
      {
        file: 'dispatch/effect-journal.js',
        find: "return ended ? 'the call has ended' : pending.has(id)",
        replace: 'return pending.has(id)',
      },
      {
        file: 'dispatch/effect-journal.js',
        find: 'return !failed && pending.size === 0 && writing === 0;',
        replace: 'return true;',
      },
    ],
    caughtBy: ['every call is accounted for'],
  },
  {
    name: 'a session uses an id of a call again',
    edits: [
      { file: CALLS, find: 'if (state.seen.has(call_id))', replace: 'if (false)' },
      {
        file: 'broker/tool-broker.js',
        find: 'const call = { call_id: callId,',
        replace: "const call = { call_id: 'again',",
      },
    ],
    caughtBy: ['at most once'],
  },
  // limits: narrower ones than lives come near to, and nobody who keeps them
  {
    name: 'a run takes more steps than it may',
    edits: [
      { file: 'runtime/runtime.js', find: 'max_iterations: 10,', replace: 'max_iterations: 1,' },
      { file: 'loop/reason.js', find: 'if (run.iteration >= run.config.max_iterations)', replace: 'if (false)' },
    ],
    caughtBy: ['limits are kept'],
  },
  {
    name: 'a run delegates deeper than it may',
    edits: [
      { file: 'events/data.js', find: 'max_delegation_depth: 3,', replace: 'max_delegation_depth: 0,' },
      {
        file: 'delegation/delegate.js',
        find: 'if (delegation_depth >= max_delegation_depth)',
        replace: 'if (false)',
      },
    ],
    caughtBy: ['limits are kept'],
  },
  {
    name: 'a delegated run does not know how deep it is',
    edits: [{ file: CHILD, find: 'delegation_depth: config.delegation_depth + 1,', replace: 'delegation_depth: 0,' }],
    caughtBy: ['limits are kept'],
  },
  {
    name: 'a session takes more calls than it may',
    edits: [
      { file: 'runtime/tool-sessions/bounds.js', find: 'callsMax: 1000,', replace: 'callsMax: 1,' },
      { file: CALLS, find: 'if (state.attempts >= state.config.max_iterations) {', replace: 'if (false) {' },
    ],
    caughtBy: ['limits are kept'],
  },
  {
    name: 'a run goes on when its time is over',
    edits: [
      {
        file: 'loop/lifecycle.js',
        find: 'deadlineMs: startedMs + millisecondsOf(config.timeout),',
        replace: 'deadlineMs: startedMs + 10 * millisecondsOf(config.timeout),',
      },
    ],
    caughtBy: ['limits are kept'],
    from: 14,
  },
  {
    name: 'a run that woke up late asks the model once more',
    edits: [
      {
        file: 'loop/reason.js',
        find: 'if (run.world.clock.monotonicMs() >= run.deadlineMs)',
        replace: 'if (false)',
      },
    ],
    caughtBy: ['limits are kept'],
    from: 1452,
  },
  {
    name: 'an approval lapses later than its client was told',
    edits: [
      {
        file: 'policy/approvals/queue-limits.js',
        find: 'expires_at: timestampOf(endMicros),',
        replace: 'expires_at: timestampOf(endMicros - 890_000_000),',
      },
      {
        file: 'policy/approvals/queue-limits.js',
        find: 'clock.monotonicMs() >= deadlineMs || instantOf(clock.wall()) >= instantOf(expires_at);',
        replace: 'clock.monotonicMs() >= deadlineMs;',
      },
    ],
    caughtBy: ['limits are kept'],
  },
  // law 5: fail closed
  {
    name: 'a call that policy denied is granted',
    edits: [{ file: AUTHORISE, find: "if (decision.kind === 'Deny')", replace: 'if (false)' }],
    caughtBy: ['policy is obeyed'],
  },
  {
    name: 'a policy that forbids is not asked',
    edits: [
      {
        file: 'policy/cedar/cedar-decision.js',
        find: 'return verdict.allowed ?',
        replace: 'return policies.length > 0 ?',
      },
    ],
    caughtBy: ['policy is obeyed'],
  },
  {
    name: 'a policy that cannot be judged is left out',
    edits: [
      { file: 'policy/cedar/cedar-decision.js', find: 'if (verdict.failures.length > 0)', replace: 'if (false)' },
    ],
    caughtBy: ['policy is obeyed'],
    from: 8,
  },
  {
    name: 'policies are read once, when the process begins',
    edits: [
      {
        file: 'policy/folder/watched-gate.js',
        find: 'return this.#seen !== null && this.#settled && !this.#seen.marks.changed();',
        replace: 'return this.#seen !== null;',
      },
    ],
    caughtBy: ['policy is obeyed'],
    from: 8,
  },
  {
    name: 'policies that disappear leave those from before in force',
    edits: [
      {
        file: 'policy/folder/watched-gate.js',
        find: "if (reading.kind === 'None')\n            return this.#empty();",
        replace: "if (reading.kind === 'None')\n            return { kind: 'Emptied' };",
      },
    ],
    caughtBy: ['policy is obeyed'],
    from: 30,
  },
  {
    name: 'a foreign tool that changed while nobody ran is pinned anew',
    edits: [
      {
        file: 'upstream/choose.js',
        find: 'else if (pinned !== null && pinned !== listed.digest)',
        replace: 'else if (false)',
      },
    ],
    caughtBy: ['policy is obeyed', 'every call is accounted for'], // the server says in the name of its tool that it is another one
    from: 25,
  },
  {
    name: 'a gate that failed has allowed',
    edits: [
      {
        file: AUTHORISE,
        find: "return denied(action, 'the policy gate failed', call, { ...by('runtime'), errors: [messageOf(error)] });",
        replace: "return grant(authority, call, run, null, { kind: 'Allow', policies: [] });",
      },
    ],
    caughtBy: ['policy is obeyed', 'approvals are spent once'],
    from: 281,
  },
  {
    name: 'what a person denied is approved',
    edits: [{ file: QUEUE, find: 'const { decision } = given;', replace: "const decision = 'approve';" }],
    caughtBy: ['approvals are spent once'],
    from: 29,
  },
  {
    name: 'what waits for a person is granted at once',
    edits: [
      { file: 'policy/approvals/held-gate.js', find: 'if (need === null)', replace: 'if (true)' },
      { file: 'policy/approvals/escalation-gate.js', find: 'if (need === null)', replace: 'if (true)' },
    ],
    caughtBy: ['approvals are spent once'],
  },
  {
    name: 'an approval is not used up',
    edits: [{ file: QUEUE, find: 'await this.#live.spend(entry, presented.call.fingerprint);', replace: '' }],
    caughtBy: ['approvals are spent once', 'at most once'],
    from: 20,
  },
  {
    name: 'a restart ends an approval that nobody came back with as one that counts',
    edits: [
      {
        file: 'policy/approvals/queue-files.js',
        find: "return decision?.decision === 'approve' && request.use === 'waits' ? 'approved' : 'expired';",
        replace: "return decision?.decision === 'approve' ? 'approved' : 'expired';",
      },
    ],
    caughtBy: ['approvals are spent once'],
    from: 156,
  },
  {
    name: 'an approval is good for another call',
    edits: [{ file: QUEUE, find: 'if (known.subject !== asker.subject)', replace: 'if (false)' }],
    caughtBy: ['approvals are spent once'],
    from: 20,
  },
  {
    name: 'a decision counts before it is durable',
    edits: [
      {
        file: QUEUE,
        find: 'await this.#live.write(entry, () => this.#files.keepDecision(id, kept));',
        replace: 'this.#live.write(entry, () => this.#files.keepDecision(id, kept)).catch(() => undefined);',
      },
    ],
    caughtBy: ['approvals are spent once'],
  },
  {
    name: 'a held call is announced before it is durable',
    edits: [{ file: QUEUE, find: 'await entry.opened;', replace: '' }],
    caughtBy: ['approvals are spent once'],
    from: 4,
  },
  {
    name: 'a process believes a claim whose sync it saw fail',
    edits: [{ file: CLAIMS, find: 'if (this.#doubtful.has(place.claim))', replace: 'if (false)' }],
    caughtBy: ['unknown is no success'],
    from: 20_246,
  },
  {
    name: 'a call that was taken back while its server was looked up leaves all the same',
    edits: [{ file: 'upstream/http-wire.js', find: 'if (!isWanted())', replace: 'if (false)' }],
    caughtBy: ['intent before effect'],
    from: 61_037,
  },
  {
    name: 'a call with an id runs with other arguments than it was asked for with',
    edits: [
      {
        file: IDENTIFIED,
        find: 'arguments: JSON.parse(text)',
        replace: 'arguments: JSON.parse(text.replace(/"token":"([^"]+)"/, \'"token":"$1x"\'))',
      },
    ],
    caughtBy: ['every call is accounted for'],
  },
  {
    name: 'a session makes a call with another amount than it was asked for with',
    edits: [
      {
        file: CALLS,
        find: 'arguments: argumentsOf({ call_id, name, arguments: args })',
        replace: `arguments: argumentsOf({ call_id, name, arguments: args }).replace(/"amount":1([,}])/, '"amount":5$1')`,
      },
    ],
    caughtBy: ['every call is accounted for'],
  },
  {
    name: 'another content under the id of a call is the same call',
    edits: [{ file: IDENTIFIED, find: 'agent: principal, name, arguments: args', replace: 'agent: principal, name' }],
    caughtBy: ['claims answer the evidence'],
  },
  {
    name: 'a session links the run of a call as that of another one',
    edits: [
      {
        file: IDENTIFIED,
        find: 'linkRun(state, owner, errand.action, signal)',
        replace: "linkRun(state, owner, { ToolCall: { ...errand.action.ToolCall, arguments: '{}' } }, signal)",
      },
    ],
    caughtBy: ['evidence verifies'],
  },
  // law 6 and 7: success includes its audit, and evidence is kept
  {
    name: 'the chain of a journal forks',
    edits: [
      {
        file: WRITER,
        find: 'previousHash: hexHash(line),',
        replace: 'previousHash: head.previousHash,',
      },
    ],
    caughtBy: ['evidence verifies'],
    from: 1,
  },
  {
    name: 'a signature is of another body',
    edits: [
      {
        file: 'journal/record.js',
        find: 'key.sign(line.subarray(HEAD.length, at))',
        replace: 'key.sign(line.subarray(HEAD.length, at - 1))',
      },
    ],
    caughtBy: ['evidence verifies'],
    from: 1,
  },
  {
    name: 'a sector that never reached the disk reads as tampering',
    edits: [
      {
        file: 'store/unwritten.js',
        find: 'let from = bytes.indexOf(0, start);',
        replace: 'return false;\n    let from = bytes.indexOf(0, start);',
      },
    ],
    caughtBy: ['evidence verifies'],
    from: 425,
  },
  {
    name: 'a run is called done though its end is not recorded',
    edits: [
      NO_READING_BACK,
      {
        file: 'loop/lifecycle.js',
        find: "await recorder.commit({ kind: 'BudgetUpdated', budget }, { kind: 'Terminated', reason, iterations, total_usage: budget.usage, duration: durationOf(durationMs) });",
        replace: "await recorder.commit({ kind: 'BudgetUpdated', budget });",
      },
    ],
    caughtBy: ['unknown is no success', 'claims answer the evidence'],
  },
  {
    name: 'a run completes without its receipts',
    edits: [
      NO_READING_BACK,
      { file: DISPATCH, find: 'stageReceipt(scope.recorder, dispatchId, observation);', replace: '' },
    ],
    caughtBy: ['unknown is no success', 'claims answer the evidence'],
  },
  {
    name: 'an id answers from its claim alone',
    edits: [NO_READING_BACK, NO_READING_AGAIN],
    caughtBy: ['claims answer the evidence', 'unknown is no success'],
  },
  {
    name: 'an id answers whoever asks',
    edits: [
      {
        file: 'coordinator/chat.js',
        find: 'request: { version: 1, caller: this.#caller, content },',
        replace: 'request: { version: 1, content },',
      },
    ],
    caughtBy: ['claims answer the evidence'],
    from: 22,
  },
  {
    name: 'an id forgets how it ended',
    edits: [{ file: 'invocations/state.js', find: 'if (result === null || needsReconciling)', replace: 'if (true)' }],
    caughtBy: ['claims answer the evidence', 'unknown is no success'],
  },
  {
    name: 'old journals make room for new ones',
    edits: [
      {
        file: WRITER,
        find: "const file = await world.files.create(path, PRIVATE_FILE_MODE, 'synced');",
        replace: `for (const name of (await world.files.list(directory)) ?? []) if (name.endsWith('.jsonl')) await world.files.unlink(join(directory, name));
    const file = await world.files.create(path, PRIVATE_FILE_MODE, 'synced');`,
      },
    ],
    caughtBy: ['evidence is kept'],
    from: 1,
  },
  {
    name: 'a claim that somebody holds is taken all the same',
    edits: [{ file: CLAIMS, find: 'if (await file.tryLock())', replace: 'if (true)' }],
    caughtBy: ['claims answer the evidence', 'unknown is no success'],
  },
  {
    name: 'a claim is released when its run begins',
    edits: [
      {
        file: CLAIMS,
        find: 'return new FileOwner(this.#world, { place, claim, file, writer, journal, doubt });',
        replace: `const unlocked = await this.#world.files.open(place.claim, 'append');
            await file.close();
            const freely = { append: (bytes) => unlocked.append(bytes), sync: () => unlocked.syncData() };
            return new FileOwner(this.#world, { place, claim, file: unlocked, writer: freely, journal, doubt });`,
      },
    ],
    caughtBy: ['claims answer the evidence', 'unknown is no success'],
  },
  {
    name: 'a claim without a result is cleared away',
    edits: [
      {
        file: CLAIMS,
        find: "return taken.kind === 'InProgress' ? taken : await this.#read(place, identity, taken.file, request.agrees);",
        replace: `if (taken.kind === 'InProgress') return taken;
        const state = await this.#read(place, identity, taken.file, request.agrees);
        if (state.kind === 'Unresolved') await this.#world.files.unlink(place.claim);
        return state;`,
      },
    ],
    caughtBy: ['evidence is kept', 'at most once'],
  },
  // budgets
  {
    name: 'a model that reports nothing has used one token',
    edits: [
      {
        file: 'loop/reason.js',
        find: 'reservation.settle(reply.usage);',
        replace:
          'reservation.settle(reply.usage.total_tokens > 0 ? reply.usage : { prompt_tokens: 1, completion_tokens: 0, total_tokens: 1 });',
      },
    ],
    caughtBy: ['budgets are not minted'],
    from: 38,
  },
  {
    name: 'a delegated run reserves nothing for what it asks',
    edits: [
      {
        file: 'delegation/delegate.js',
        find: 'return budget.child(Math.min(context.config.max_total_tokens, budget.limit));',
        replace:
          'const child = budget.child(Math.min(context.config.max_total_tokens, budget.limit));\n        child.reserve = (request) => budget.reserve({ ...request, inputTokens: 0 });\n        return child;',
      },
    ],
    caughtBy: ['budgets are not minted'],
  },
  // what the records say
  {
    name: 'a delegation or a reply that policy denied is granted',
    edits: [
      {
        file: AUTHORISE,
        find: "if (decision.kind === 'Deny')",
        replace: "if (decision.kind === 'Deny' && 'ToolCall' in action)",
      },
    ],
    caughtBy: ['policy is obeyed'],
    from: 9,
  },
  {
    name: 'an id answers whatever is asked',
    edits: [
      {
        file: 'coordinator/chat.js',
        find: 'request: { version: 1, caller: this.#caller, content },',
        replace: 'request: { version: 1, caller: this.#caller },',
      },
    ],
    caughtBy: ['claims answer the evidence'],
    from: 13,
  },
  {
    name: 'a receipt is of another result',
    edits: [
      { file: DISPATCH, find: 'observation_hash: digest(observation),', replace: 'observation_hash: digest(null),' },
    ],
    caughtBy: ['evidence verifies'],
  },
  {
    name: 'a delegation is recorded with another task',
    edits: [
      {
        file: 'delegation/delegate.js',
        find: 'message_hash: hexHash(task),',
        replace: 'message_hash: hexHash(prompt),',
      },
    ],
    caughtBy: ['evidence verifies'],
    from: 12,
  },
  // nothing is held
  {
    name: 'a claim that is finished stays locked',
    edits: [
      {
        file: OWNER,
        find: 'await Promise.allSettled([journal.close(), file.close()]);',
        replace: 'await Promise.allSettled([journal.close()]);',
      },
    ],
    caughtBy: ['nothing is held', 'claims answer the evidence'],
  },
  {
    name: 'the journal of a finished run stays open',
    edits: [
      {
        file: WRITER,
        find: 'await this.#file.close();',
        replace: '',
      },
    ],
    caughtBy: ['nothing is held'],
  },
  {
    name: 'the timer of a race that is over goes on',
    edits: [{ file: 'world/deadline.js', find: '    finally {\n        stopTimer();', replace: '    finally {' }],
    caughtBy: ['nothing is held'],
  },
  // the runtime stays up
  {
    name: 'a process on standard input stays when its client has closed its end',
    edits: [
      {
        file: 'broker/stream.js',
        find: 'await unlessAborted(connection.idle(), signal);',
        replace: 'await unlessAborted(new Promise(() => undefined), signal);',
      },
    ],
    caughtBy: ['the runtime stays up'],
  },
  {
    name: 'a journal that failed breaks the process',
    edits: [
      {
        file: WRITER,
        find: 'list.reject(outcome.error);',
        replace: "list.reject(new TypeError('undefined is not a function'));",
      },
    ],
    caughtBy: ['the runtime stays up'],
    from: 20,
  },
]
