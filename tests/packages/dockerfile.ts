/** Reads the stages of a Dockerfile, and copies the files of the project that an image contains. Runs no commands. */
import assert from 'node:assert/strict'
import { cpSync, existsSync, readFileSync, symlinkSync } from 'node:fs'
import { basename, join, relative } from 'node:path'

/** One stage of a Dockerfile: the instructions from a `FROM` to the next. */
interface Stage {
  readonly from: string
  readonly env: Record<string, string>
  readonly copies: { readonly from: string | undefined; readonly sources: string[]; readonly to: string }[]
  user?: string
  command?: string[]
  healthcheck?: string[]
}

/** The settings of the image's program. */
export interface Image {
  readonly env: Readonly<Record<string, string>>
  readonly command: readonly string[]
  readonly healthcheck: readonly string[]
  readonly user: string
}

/** The folder in the images that contains the project. */
const WORKDIR = '/app'

/** The Dockerfile of a folder. */
export class Dockerfile {
  readonly #folder: string
  readonly #stages = new Map<string, Stage>()
  readonly #ignored: (path: string) => boolean

  constructor(folder: string) {
    this.#folder = folder
    this.#ignored = ignoring(readFileSync(join(folder, '.dockerignore'), 'utf8'))
    let stage: Stage | undefined
    for (const line of readFileSync(join(folder, 'Dockerfile'), 'utf8').split('\n')) {
      if (line === '' || line.startsWith('#')) continue
      const [, instruction = '', rest = ''] =
        /^([A-Z]+) (.*)$/.exec(line) ?? assert.fail(`not understood: ${line}`)
      if (instruction === 'FROM') {
        const [, from = '', name = ''] = /^(\S+) AS (\S+)$/.exec(rest) ?? assert.fail(line)
        stage = { from, env: {}, copies: [] }
        this.#stages.set(name, stage)
      } else {
        assert.ok(stage, line)
        read(stage, instruction, rest)
      }
    }
  }

  /** The names of its stages. */
  get stages(): string[] {
    return [...this.#stages.keys()]
  }

  /** The base images of its stages. */
  get bases(): string[] {
    return [...this.#stages.values()].map(({ from }) => from).filter((from) => !this.#stages.has(from))
  }

  /**
   * Copies the files of the project that the image of a stage contains into a folder; installed packages become a
   * link.
   * @throws {AssertionError} a file that some stage copies does not exist, or is excluded by .dockerignore
   */
  image(name: string, target: string): Image {
    const line = this.#line(name)
    for (const { copies } of this.#stages.values())
      for (const { from, sources } of copies) this.#check(from, sources)
    for (const { copies } of line)
      for (const { from, sources, to } of copies)
        for (const source of sources)
          this.#copy(
            source.replace(`${WORKDIR}/`, ''),
            from,
            join(target, to.endsWith('/') ? join(to, basename(source)) : to)
          )
    const last = <Key extends 'command' | 'healthcheck' | 'user'>(key: Key) =>
      line.findLast((stage) => stage[key] !== undefined)?.[key] ?? assert.fail(`${name} has no ${key}`)
    return {
      env: Object.assign({}, ...line.map(({ env }) => env)),
      command: last('command') as string[],
      healthcheck: last('healthcheck') as string[],
      user: last('user') as string
    }
  }

  /** A stage and the stages on which it is based, from the lowest. */
  #line(name: string): Stage[] {
    const stage = this.#stages.get(name)
    return stage === undefined ? [] : [...this.#line(stage.from), stage]
  }

  #check(from: string | undefined, sources: readonly string[]): void {
    if (from !== undefined) assert.ok(this.#stages.has(from), `there is a stage ${from}`)
    for (const source of sources) {
      const path = source.replace(`${WORKDIR}/`, '')
      assert.ok(existsSync(join(this.#folder, path)), `${path} is there to be copied`)
      if (from === undefined) assert.ok(!this.#ignored(path), `${path} is not in .dockerignore`)
    }
  }

  #copy(source: string, from: string | undefined, target: string): void {
    const path = join(this.#folder, source)
    if (source === 'node_modules') symlinkSync(path, target)
    else
      cpSync(path, target, {
        recursive: true,
        filter: (file) => from !== undefined || !this.#ignored(relative(this.#folder, file))
      })
  }
}

function read(stage: Stage, instruction: string, rest: string): void {
  switch (instruction) {
    case 'COPY': {
      const [, from, paths = ''] = /^(?:--from=(\S+) )?(.*)$/.exec(rest) ?? []
      const names = paths.split(' ')
      stage.copies.push({ from, sources: names.slice(0, -1), to: names.at(-1) as string })
      return
    }
    case 'ENV':
      for (const pair of rest.split(' ')) {
        const [name = '', value = ''] = pair.split('=')
        stage.env[name] = value
      }
      return
    case 'USER':
      stage.user = rest
      return
    case 'CMD':
      stage.command = JSON.parse(rest) as string[]
      return
    case 'HEALTHCHECK':
      stage.healthcheck = JSON.parse(rest.slice(rest.indexOf('['))) as string[]
      return
    case 'WORKDIR':
      assert.equal(rest, WORKDIR)
      return
    default:
      assert.ok(['RUN', 'EXPOSE'].includes(instruction), `${instruction} is not understood by this test`)
  }
}

/** Reads the rules of a .dockerignore: the last rule that matches a path, or a folder above it, decides. */
function ignoring(text: string): (path: string) => boolean {
  const rules = text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const glob = line.replace(/^!/, '').replace(/[.]/g, '\\.')
      const pattern = glob.replaceAll('**/', '\0').replaceAll('*', '[^/]*').replaceAll('\0', '(?:.*/)?')
      return { isIgnored: !line.startsWith('!'), pattern: new RegExp(`^${pattern}(/.*)?$`) }
    })
  return (path) => rules.findLast(({ pattern }) => pattern.test(path))?.isIgnored ?? false
}
