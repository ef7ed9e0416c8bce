/** Writes a file model as the text of a `.proto`. The same model always gives the same text. */

import { zeroName } from '../words.ts'
import {
  type EnumModel,
  type FieldModel,
  type FileModel,
  importsOf,
  type MessageModel,
  type MethodModel
} from './model.ts'
import { typeText } from './numbers.ts'

/** The text of a `.proto`. */
export function protoText(file: FileModel): string {
  const imports = importsOf(file).map((name) => `import "${name}";`)
  const head = [
    '// Written by `npx elysia-microservices proto`. Changes here are lost: change the schemas of the service.',
    ...file.notes.map((note) => `// ${note}`),
    'syntax = "proto3";',
    '',
    `package ${file.package};`,
    ...(imports.length > 0 ? ['', ...imports] : [])
  ]
  const service = [`service ${file.service} {`, ...file.methods.flatMap(method), '}']
  const parts = [head, service, ...file.messages.map(message), ...file.enums.map(enumeration)]
  return `${parts.map((lines) => lines.join('\n')).join('\n\n')}\n`
}

function method({
  name,
  pattern,
  kind,
  input,
  output,
  clientStreams,
  serverStreams,
  isIdempotent
}: MethodModel): string[] {
  const taken = `${clientStreams ? 'stream ' : ''}${typeText(input)}`
  const given = `${serverStreams ? 'stream ' : ''}${typeText(output)}`
  const line = `  rpc ${name} (${taken}) returns (${given})`
  return [
    `  // ${kind === 'event' ? 'The event' : 'The pattern'} ${comment(pattern)}`,
    isIdempotent ? `${line} { option idempotency_level = IDEMPOTENT; }` : `${line};`
  ]
}

/** A text within one line of a comment. */
function comment(text: string): string {
  return JSON.stringify(text)
}

function message({ name, fields, reserved }: MessageModel): string[] {
  const lines = [...reservedLines(reserved), ...fields.map(field)]
  return lines.length === 0
    ? [`message ${name} {}`]
    : [`message ${name} {`, ...lines.map((line) => `  ${line}`), '}']
}

function field({ name, number, type, isOptional, jsonName }: FieldModel): string {
  const options = jsonName === undefined ? '' : ` [json_name = ${quoted(jsonName)}]`
  return `${isOptional ? 'optional ' : ''}${typeText(type)} ${name} = ${number}${options};`
}

/** A text of a `.proto`, whose escapes are those of C. */
function quoted(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are escaped
  const inner = text.replaceAll(/["\\\u0000-\u001f\u007f]/g, (one) =>
    one === '"' || one === '\\' ? `\\${one}` : `\\${one.charCodeAt(0).toString(8).padStart(3, '0')}`
  )
  return `"${inner}"`
}

function enumeration({ name, values, reserved }: EnumModel): string[] {
  const zero = zeroName(name)
  return [
    `enum ${name} {`,
    ...reservedLines(reserved).map((line) => `  ${line}`),
    `  ${zero} = 0;`,
    ...values.map((value) => `  ${value.name} = ${value.number};`),
    '}'
  ]
}

function reservedLines({ numbers, names }: MessageModel['reserved']): string[] {
  return [
    ...(numbers.length > 0 ? [`reserved ${numbers.join(', ')};`] : []),
    ...(names.length > 0 ? [`reserved ${names.map((name) => `"${name}"`).join(', ')};`] : [])
  ]
}
