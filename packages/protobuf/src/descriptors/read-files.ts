/** Reads `.proto` files and all that they import, by protobufjs, and files with descriptors. */
import { readFileSync, realpathSync } from 'node:fs'
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { FileDescriptorProto } from '@bufbuild/protobuf/wkt'
import { OptionError } from '@elysia-microservices/transport/kit'
import type protobufjs from 'protobufjs'
import { KNOWN_FILES } from './known-files.ts'
import { descriptorOf, type Parsed } from './of-protobufjs.ts'
import { type Files, filesIn, inOrder } from './registry.ts'

/** protobufjs, which is loaded only where a `.proto` is read. */
export type Protobufjs = typeof protobufjs
type Path = string | URL

const OPTION = 'options.files'
/** The first statement of a file, behind comments. */
const SYNTAX = /^(?:\s|\/\/[^\n]*(?:\n|$)|\/\*[\s\S]*?\*\/|;)*(?:syntax|edition)\s*=\s*(["'])([^"']*)\1/

/** Whether a file has the text of a `.proto`, and not descriptors. */
export function isText(path: Path): boolean {
  return pathOf(path).endsWith('.proto')
}

/**
 * @param files `.proto` files, and files with the bytes of a `FileDescriptorSet`
 * @param protobuf `undefined`: no file is a `.proto`
 * @returns the files, and the names of those that were asked for
 * @throws {OptionError} a file is missing or wrong
 */
export function readFiles(
  files: readonly Path[],
  includeDirs: readonly Path[],
  protobuf: Protobufjs | undefined
): { readonly files: Files; readonly asked: ReadonlySet<string> } {
  const reader = new FileReader(includeDirs.map(pathOf).map(realFolder), protobuf)
  for (const file of files) reader.add(pathOf(file))
  return reader.end()
}

function pathOf(path: Path): string {
  return resolve(typeof path === 'string' ? path : fileURLToPath(path))
}

/** The folder behind a link, as files are compared by their real paths. */
function realFolder(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return path
  }
}

class FileReader {
  readonly #folders: readonly string[]
  /** The files that are read, by their path; a file may be imported by several names. */
  readonly #names = new Map<string, string>()
  readonly #parsed: Parsed[] = []
  readonly #described: FileDescriptorProto[] = []
  readonly #asked = new Set<string>()
  readonly #known = new Set<string>()
  readonly #protobuf: Protobufjs | undefined
  #root: protobufjs.Root | undefined

  constructor(folders: readonly string[], protobuf: Protobufjs | undefined) {
    this.#folders = folders
    this.#protobuf = protobuf
  }

  add(path: string): void {
    const bytes = bytesOf(path)
    if (bytes === undefined) throw new OptionError(OPTION, `There is no file ${path}`)
    if (!path.endsWith('.proto')) {
      const files = filesIn(bytes, path)
      this.#described.push(...files)
      for (const { name } of files) this.#asked.add(name)
      return
    }
    this.#asked.add(this.#parse(realpathSync(path), bytes, [dirname(path)]))
  }

  end() {
    const root = this.#root
    if (root === undefined || this.#protobuf === undefined)
      return { files: inOrder(this.#described, OPTION), asked: this.#asked }
    // Extensions are not read, and what they extend may be missing.
    root.deferred = []
    try {
      root.resolveAll()
    } catch (error) {
      throw new OptionError(OPTION, `The .proto files cannot be read: ${(error as Error).message}`, error)
    }
    const protobuf = this.#protobuf
    const made = this.#parsed.map((file) => descriptorOf(file, root, protobuf))
    return { files: inOrder([...this.#described, ...made], OPTION), asked: this.#asked }
  }

  /** Parses a file and what it imports. Returns the name of the file. */
  #parse(path: string, bytes: Uint8Array, folders: readonly string[], wanted?: string): string {
    const known = this.#names.get(path)
    if (known !== undefined) return known
    const name = this.#nameOf(path, wanted)
    this.#names.set(path, name)
    this.#root ??= new (this.#protobuf as Protobufjs).Root()
    const text = new TextDecoder().decode(bytes)
    const { package: scope, imports = [], weakImports = [] } = this.#read(text, path, name)
    const all = [...imports, ...weakImports]
    const names: string[] = []
    for (const one of all) names.push(this.#import(one, path, folders))
    this.#parsed.push({ name, package: scope, imports: names, syntax: SYNTAX.exec(text)?.[2] ?? 'proto2' })
    return name
  }

  #read(text: string, path: string, name: string): protobufjs.IParserResult {
    const { parse } = this.#protobuf as Protobufjs
    // protobufjs keeps the name of the file with everything that it reads in the file.
    ;(parse as unknown as { filename: string | null }).filename = name
    try {
      return parse(text, this.#root as protobufjs.Root, { keepCase: true })
    } catch (error) {
      throw new OptionError(OPTION, `${path} is no valid .proto file: ${(error as Error).message}`, error)
    } finally {
      ;(parse as unknown as { filename: string | null }).filename = null
    }
  }

  #import(name: string, by: string, folders: readonly string[]): string {
    if (KNOWN_FILES.has(name)) {
      const { nested } = (this.#protobuf as Protobufjs).common.get(name) ?? {}
      if (nested !== undefined && !this.#known.has(name)) (this.#root as protobufjs.Root).addJSON(nested)
      this.#known.add(name)
      return name
    }
    const all = [...this.#folders, ...folders, dirname(by)]
    for (const folder of all) {
      const path = join(folder, name)
      const bytes = bytesOf(path)
      if (bytes !== undefined) return this.#parse(realpathSync(path), bytes, folders, name)
    }
    throw new OptionError(
      'options.includeDirs',
      `${by} imports ${name}, which is in none of the folders ${[...new Set(all)].join(', ')}; name its folder in options.includeDirs`
    )
  }

  /** The name of a file: by its import, or its path from the first folder that has it. No two files have one name. */
  #nameOf(path: string, wanted: string | undefined): string {
    const folder = this.#folders.find((one) => isWithin(one, path))
    let name = wanted ?? (folder === undefined ? basename(path) : relative(folder, path).replaceAll(sep, '/'))
    const taken = new Set(this.#names.values())
    for (let above = dirname(path); taken.has(name) && above !== dirname(above); above = dirname(above))
      name = `${basename(above)}/${name}`
    return name
  }
}

function isWithin(folder: string, path: string): boolean {
  const from = relative(folder, path)
  return !from.startsWith('..') && !isAbsolute(from)
}

function bytesOf(path: string): Uint8Array | undefined {
  try {
    return readFileSync(path)
  } catch (error) {
    const { code } = error as { readonly code?: string }
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined
    throw new OptionError(OPTION, `The file ${path} cannot be read: ${(error as Error).message}`, error)
  }
}
