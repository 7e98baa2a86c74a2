/**
 * The syntax tree of `.symbi` text: what the author wrote, before anybody judged whether it may be used.
 *
 * Plain data. Every node knows its place as UTF-16 offsets into the text that was parsed (`end` is behind the last unit);
 * `LineMap` turns them into lines, columns and bytes for people. Comments are no nodes: they stand beside the tree.
 */

export interface Span {
  readonly start: number
  readonly end: number
}

interface Node<K extends string> {
  readonly kind: K
  readonly span: Span
}

/** An identifier where the grammar wants a name; as a value it is an expression of kind `name`, which is the same node. */
export interface Name extends Node<'name'> {
  readonly text: string
}

export interface Source extends Node<'source'> {
  readonly items: readonly Item[]
}

export type Item =
  | Metadata
  | Agent
  | Policy
  | TypeDefinition
  | FunctionDefinition
  | Schedule
  | Channel
  | Memory
  | Webhook
export type ItemKind = Item['kind']

/** `key = value`, `key: value` or, in memory and webhook blocks, `key value`. */
export interface Property extends Node<'property'> {
  readonly key: Name
  readonly separator: '=' | ':' | ''
  readonly value: Expression
  /** Whether the author put a comma behind it. */
  readonly comma: boolean
}

export interface Metadata extends Node<'metadata'> {
  readonly entries: readonly Property[]
}

export interface Agent extends Node<'agent'> {
  readonly name: Name
  readonly parameters: readonly Parameter[]
  readonly returns: Type | null
  readonly members: readonly Member[]
}

export interface Parameter extends Node<'parameter'> {
  readonly name: Name
  readonly type: Type
}

export type Member = Capabilities | Policy | FunctionDefinition | With

export interface Capabilities extends Node<'capabilities'> {
  readonly separator: '=' | ':'
  readonly value: ArrayLiteral
}

export interface Policy extends Node<'policy'> {
  readonly name: Name
  readonly rules: readonly Rule[]
}

export type RuleEffect = 'allow' | 'deny' | 'require' | 'audit'

export interface Rule extends Node<'rule'> {
  readonly effect: RuleEffect
  readonly selector: Expression
  /** What stands behind `if`. */
  readonly condition: Expression | null
}

export interface With extends Node<'with'> {
  /** Separator is always `=`. */
  readonly attributes: readonly Property[]
  readonly body: Block
}

export interface FunctionDefinition extends Node<'function'> {
  readonly name: Name
  readonly parameters: readonly Parameter[]
  readonly returns: Type | null
  readonly body: Block
}

export interface TypeDefinition extends Node<'type'> {
  readonly name: Name
  readonly definition: Struct | Name
}

export interface Struct extends Node<'struct'> {
  readonly fields: readonly Parameter[]
}

/** `String`, `int`, `Name`, or `list<Name>`: arguments are empty for a plain name. */
export interface Type extends Node<'type-reference'> {
  readonly name: Name
  readonly arguments: readonly Type[]
}

export interface Schedule extends Node<'schedule'> {
  readonly name: Name
  readonly entries: readonly Property[]
}

export interface Channel extends Node<'channel'> {
  readonly name: Name
  readonly members: readonly (Property | Policy | SubBlock)[]
}

export interface Memory extends Node<'memory'> {
  readonly name: Name
  readonly members: readonly (Property | SubBlock)[]
}

export interface Webhook extends Node<'webhook'> {
  readonly name: Name
  readonly members: readonly (Property | SubBlock)[]
}

/** `data_classification { … }`, `search { … }`, `filter { … }`. */
export interface SubBlock extends Node<'sub-block'> {
  readonly name: 'data_classification' | 'search' | 'filter'
  readonly entries: readonly Property[]
}

export interface Block extends Node<'block'> {
  readonly statements: readonly Statement[]
  /** The expression behind the last statement: the value of the block. */
  readonly value: Expression | null
}

export type Statement = Let | If | For | Match | Try | Return | Assign | ExpressionStatement

export interface Let extends Node<'let'> {
  readonly name: Name
  readonly value: Expression
}

export interface If extends Node<'if'> {
  readonly condition: Expression | LetPattern
  readonly then: Block
  readonly otherwise: If | Block | null
}

/** `if let pattern = value`. */
export interface LetPattern extends Node<'let-pattern'> {
  readonly pattern: Pattern
  readonly value: Expression
}

/** `_` and plain names have no arguments; `Some(x)` has. */
export interface Pattern extends Node<'pattern'> {
  readonly name: string
  readonly arguments: readonly Pattern[] | null
}

export interface For extends Node<'for'> {
  readonly name: Name
  readonly items: Expression
  readonly body: Block
}

export interface Match extends Node<'match'> {
  readonly value: Expression
  readonly arms: readonly MatchArm[]
}

export interface MatchArm extends Node<'match-arm'> {
  /** `_` is the name `_`. */
  readonly pattern: StringLiteral | NumberLiteral | BooleanLiteral | Name
  readonly body: Expression | Block
}

export interface Try extends Node<'try'> {
  readonly body: Block
  readonly catches: readonly Catch[]
}

/** `catch (type name)` or `catch (name)`. */
export interface Catch extends Node<'catch'> {
  readonly type: Name | null
  readonly name: Name
  readonly body: Block
}

export interface Return extends Node<'return'> {
  readonly value: Expression | null
}

export type AssignOperator = '=' | '+=' | '-=' | '*=' | '/=' | '%='

export interface Assign extends Node<'assign'> {
  readonly target: Expression
  readonly operator: AssignOperator
  readonly value: Expression
}

export interface ExpressionStatement extends Node<'expression-statement'> {
  readonly expression: Expression
}

export type Expression =
  | StringLiteral
  | NumberLiteral
  | BooleanLiteral
  | DurationLiteral
  | VaultUrl
  | Name
  | ArrayLiteral
  | RecordLiteral
  | Construct
  | Unary
  | Binary
  | FieldAccess
  | Call
  | Index
  | Lambda
  | IfExpression
  | Group

/** `value` is decoded. */
export interface StringLiteral extends Node<'string'> {
  readonly value: string
}

/** Unsigned, as written, underscores included. */
export interface NumberLiteral extends Node<'number'> {
  readonly text: string
}

export interface BooleanLiteral extends Node<'boolean'> {
  readonly value: boolean
}

export type DurationUnit = 'seconds' | 'minutes' | 'hours' | 's' | 'm' | 'h' | 'd' | 'w' | 'months' | 'y'

/** `30.seconds` and `30s`: the unit says which was written. */
export interface DurationLiteral extends Node<'duration'> {
  readonly amount: number
  readonly unit: DurationUnit
}

export interface VaultUrl extends Node<'vault-url'> {
  readonly text: string
}

export interface ArrayLiteral extends Node<'array'> {
  readonly items: readonly Expression[]
}

export interface RecordLiteral extends Node<'record'> {
  readonly fields: readonly Field[]
}

export interface Field extends Node<'field'> {
  readonly key: Name | StringLiteral
  readonly value: Expression
}

/** `Point { x: 1 }`. */
export interface Construct extends Node<'construct'> {
  readonly name: Name
  readonly record: RecordLiteral
}

export interface Unary extends Node<'unary'> {
  readonly operator: '!' | 'not' | '-'
  readonly operand: Expression
}

export type BinaryOperator = '||' | '&&' | '==' | '!=' | 'in' | '<' | '>' | '<=' | '>=' | '+' | '-' | '*' | '/' | '%'

export interface Binary extends Node<'binary'> {
  readonly operator: BinaryOperator
  readonly left: Expression
  readonly right: Expression
}

/** `object.name`. */
export interface FieldAccess extends Node<'field-access'> {
  readonly object: Expression
  readonly field: Name
}

export interface Call extends Node<'call'> {
  readonly callee: Expression
  readonly arguments: readonly Argument[]
}

export interface Argument extends Node<'argument'> {
  /** Null for a positional one. */
  readonly name: Name | null
  readonly value: Expression
}

export interface Index extends Node<'index'> {
  readonly object: Expression
  readonly index: Expression
}

export interface Lambda extends Node<'lambda'> {
  readonly parameter: Name
  readonly body: Expression
}

export interface IfExpression extends Node<'if-expression'> {
  readonly condition: Expression
  readonly then: Block
  readonly otherwise: IfExpression | Block
}

/** What stands in parentheses. Kept, so that the text can be written again as it was meant. */
export interface Group extends Node<'group'> {
  readonly inner: Expression
}

export interface Comment {
  /** With its `//` or `#`, without the end of the line. */
  readonly text: string
  readonly span: Span
}
