/**
 * Makes a contract from a service's types. The TypeScript compiler of the service's project writes the types as
 * plain data types, so that the contract does not depend on the service's imports.
 */
import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { basename, dirname, join, resolve } from 'node:path'
import { OptionError } from '@elysia-microservices/transport/kit'
import { declaration, interfaceName } from './schema-text.ts'

/**
 * The source that is compiled. The compiler writes conditional types out, because they have no name. Functions are
 * removed, because data cannot contain them. An enumeration becomes a union of its values, and a type with `toJSON` what
 * this method returns, because every codec sends that; only bytes keep the method, because not every codec calls it.
 */
const PROBE = `
type Kept =
  | Date | RegExp | ArrayBuffer | ArrayBufferView | ((...args: never[]) => unknown)
  | ReadonlyMap<unknown, unknown> | ReadonlySet<unknown> | AsyncIterable<unknown>
type Plain<T> = 0 extends 1 & T ? T
  : unknown extends T ? T
  : T extends string ? string extends T ? string : \`\${T}\`
  : T extends number ? number extends T ? number : \`\${T}\` extends \`\${infer N extends number}\` ? N : T
  : T extends boolean | bigint | symbol | null | undefined ? T
  : T extends AsyncIterable<infer Value> ? AsyncIterable<Plain<Value>>
  : T extends Uint8Array ? T extends { toJSON(): infer Made } ? Uint8Array & { toJSON(): Plain<Made> } : Uint8Array
  : T extends ReadonlyMap<infer Key, infer Value> ? Map<Plain<Key>, Plain<Value>>
  : T extends ReadonlySet<infer Value> ? Set<Plain<Value>>
  : T extends Kept ? T
  : T extends { toJSON(...args: never[]): infer Made } ? Plain<Made>
  : T extends readonly unknown[] ? { [Key in keyof T]: Plain<T[Key]> }
  : T extends object ? { [Key in keyof T as T[Key] extends (...args: never[]) => unknown ? never : Key]: Plain<T[Key]> }
  : T
type Answer<Value, Stream> = [Stream] extends [true] ? AsyncIterable<Value>
  : [Stream] extends [false] ? Value : [Value] extends [never] ? never : Value | AsyncIterable<Value>
type Failures<Errors> = { [Code in keyof Errors & string]: Errors[Code] extends { readonly details: infer Details } ? DeclaredError<Code, Plain<Details>> : never }[keyof Errors & string]
type Method<Data, Headers, Result> = unknown extends Headers
  ? [Data] extends [undefined] ? () => Result
    : undefined extends Data ? (data?: Data) => Result : (data: Data) => Result
  : (data: Data, headers: Headers) => Result
type Message<T> = T extends { readonly data: infer Data; readonly value: infer Value; readonly stream: infer Stream; readonly headers: infer Headers; readonly errors: infer Errors }
  ? Method<Plain<Data>, Plain<Headers>, Answer<Plain<Value>, Stream> | Failures<Errors>> : never
type Emitted<T> = T extends { readonly data: infer Data; readonly headers: infer Headers }
  ? unknown extends Headers ? { readonly '~event': Plain<Data> }
    : { readonly '~event': Plain<Data>; readonly '~headers': Plain<Headers> }
  : never
type IsOne<Name> = {} extends { [Key in Name & PropertyKey]: 1 } ? false : true
type Contract<Service, Ones> = MessagesOf<Service> & EventsOf<Service> extends infer All
  ? { [Name in keyof All as IsOne<Name> extends Ones ? Name : never]: All[Name] extends { readonly value: unknown } ? Message<All[Name]> : Emitted<All[Name]> }
  : never
type Service<Exported> = Exported extends Typed ? Exported
  : Exported extends (...args: never[]) => infer Made ? Awaited<Made> extends Typed ? Awaited<Made> : never
  : never
type Services<Module, Ones> = [Module] extends [infer All]
  ? { [Name in keyof All as [Service<All[Name]>] extends [never] ? never : Name]: Contract<Service<All[Name]>, Ones> }
  : never
`

/** Compiler options that replace those of the project. */
const OPTIONS = {
  noEmit: false,
  composite: false,
  incremental: false,
  declaration: true,
  declarationMap: false,
  emitDeclarationOnly: true,
  noEmitOnError: false,
  isolatedDeclarations: false,
  allowImportingTsExtensions: true,
  skipLibCheck: true,
  strict: true,
  outDir: 'out'
}
/** Compiler options for checking that the contract's file compiles alone. */
const ALONE = {
  target: 'esnext',
  module: 'esnext',
  moduleResolution: 'bundler',
  lib: ['esnext', 'dom'],
  types: [],
  skipLibCheck: true
}

/** Largest size in bytes of the compiler's output, since a project may have very many errors. */
const MAX_OUTPUT = 64 * 1024 * 1024

/** Matches a service among the exports of a module, in the compiler's declarations. */
const EXPORTED = /^ {4}(?:readonly )?"?([\w$]+)"?: (\{\}|\{[\s\S]*?\n {4}\});$/gm
/** Matches the compiler's text for the inner use of a recursive type. */
const ELIDED = /\/\*elided\*\/ any\b/g

/** Declared errors use a type that callers can import. */
const ERRORS = "import type { DeclaredError } from 'elysia-microservices/client'"

/** The contracts of the services in a file. */
export interface Contracts {
  readonly text: string
  /** Whether a type is recursive, and so was written only up to a certain depth. */
  readonly isCut: boolean
}

/**
 * Returns the contracts of the services that a file exports.
 * @throws {OptionError} the file does not exist, TypeScript is not installed, no service is exported, or the types
 * depend on something that only the service's own project has
 */
export async function contractsOf(file: string): Promise<Contracts> {
  const path = resolve(file)
  if (!existsSync(path)) throw new OptionError('file', `There is no file ${file}`)
  const source = realpathSync(path)
  const { resolve: find } = createRequire(source)
  const compiler = found(() => join(dirname(find('typescript/package.json')), 'bin/tsc'), 'typescript')
  const types = found(() => find('elysia-microservices/types'), 'elysia-microservices')
  const project = above(source, 'tsconfig.json')
  const root = above(source, 'node_modules') ?? join(dirname(source), 'node_modules')
  const folder = join(root, `.elysia-microservices-${process.pid}`)
  mkdirSync(folder, { recursive: true })
  try {
    const write = (name: string, content: object | string) =>
      writeFileSync(join(folder, name), typeof content === 'string' ? content : JSON.stringify(content))
    const imported = [
      `import type * as all from ${JSON.stringify(source)}`,
      `import type { EventsOf, MessagesOf, Typed } from ${JSON.stringify(realpathSync(types))}`,
      ERRORS
    ]
    write('package.json', { type: 'module' })
    write(
      'contract.ts',
      `${imported.join('\n')}\n${PROBE}
declare function services<Ones>(): Services<typeof all, Ones>
export const ones = services<true>()
export const families = services<false>()
`
    )
    const standard = { target: 'es2023', module: 'nodenext' }
    write('tsconfig.json', {
      ...(project !== undefined && { extends: project }),
      compilerOptions: { ...(project === undefined && standard), ...OPTIONS },
      files: ['contract.ts'],
      include: [],
      references: []
    })
    const said = await compile(compiler, folder, 'contract.ts')
    const output = files(join(folder, 'out')).find((name) => name.endsWith('contract.d.ts'))
    const declared = output === undefined ? '' : await readFile(output, 'utf8')
    const text = contractText(declared, basename(source).replace(/\.\w+$/, ''))
    if (text === '')
      throw new OptionError(
        'file',
        said === ''
          ? `${file} exports no service that the compiler knows; export one: export const orders = microservice({ … })`
          : `The types of ${file} cannot be written down: ${said}`
      )
    write('alone.ts', text)
    write('tsconfig.json', { compilerOptions: { ...ALONE, noEmit: true, strict: true }, files: ['alone.ts'] })
    const missing = await compile(compiler, folder, 'alone.ts')
    if (missing !== '')
      throw new OptionError(
        'file',
        `The types of ${file} depend on something that only its own project has: ${missing}; write that type out where the service uses it`
      )
    return { text, isCut: ELIDED.test(declared) }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/**
 * Extracts the contracts from the compiler's declarations.
 * @param file its name is used for a service that is the default export
 */
function contractText(declared: string, file: string): string {
  const plain = declared
    .replaceAll(ELIDED, 'unknown')
    .replaceAll('Uint8Array<ArrayBufferLike>', 'Uint8Array')
    .replaceAll('\r', '')
  const [ones = '', families = ''] = plain.split(/^export declare const families/m)
  const family = new Map([...families.matchAll(EXPORTED)].map(([, name, body]) => [name, body]))
  const contracts = [...ones.matchAll(EXPORTED)]
    .map(([, name = '', body = '']) =>
      declaration(interfaceName(name === 'default' ? file : name), [body, family.get(name) ?? '{}'])
    )
    .join('\n\n')
    .replaceAll('\n    ', '\n')
  return contracts.includes('DeclaredError<') ? `${ERRORS}\n\n${contracts}` : contracts
}

/** Runs the compiler. Returns its first message about a file, or `''` if there is none. */
function compile(compiler: string, folder: string, file: string): Promise<string> {
  const args = [compiler, '-p', folder, '--pretty', 'false']
  return new Promise((done) => {
    execFile(process.execPath, args, { maxBuffer: MAX_OUTPUT }, (error, out) => {
      const said = out.split('\n').find((line) => line.includes(`${file}(`))
      const isBroken = error !== null && typeof error.code !== 'number'
      done(isBroken ? error.message : (said?.replace(/^.*?: error TS\d+: /, '') ?? ''))
    })
  })
}

function files(folder: string): string[] {
  if (!existsSync(folder)) return []
  return readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name))
}

/** Finds a file or folder by its name, in the folder of a file or the nearest folder above. */
function above(file: string, name: string): string | undefined {
  for (let folder = dirname(file); ; folder = dirname(folder)) {
    const path = join(folder, name)
    if (existsSync(path)) return path
    if (folder === dirname(folder)) return undefined
  }
}

function found(find: () => string, name: string): string {
  try {
    return find()
  } catch {
    throw new OptionError(
      'file',
      `types needs the package ${name} in the project of the file: npm install --save-dev ${name}`
    )
  }
}
