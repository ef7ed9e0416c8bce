/** The declarations that are published, of those that `tsc` has written. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { declarationsOf } from './declarations.ts'

/** The published text of each file. */
function published(files: Readonly<Record<string, string>>, ...entries: string[]): Record<string, string> {
  return Object.fromEntries(declarationsOf(entries, (file) => files[file] ?? assert.fail(`no ${file}`)))
}

describe('declarationsOf', () => {
  it('publishes what an entry exports and what that names, with comments, and nothing else', () => {
    const files = {
      'index.d.ts': `/** The exports. */
export { open } from './door.ts';
export type { Key as HouseKey } from './keys.ts';
//# sourceMappingURL=index.d.ts.map`,
      'door.d.ts': `/** Doors: for those who work here. */
import { type Key, type Ring } from './keys.ts';
import type { Wood } from './wood.ts';
/** Opens it. @see Unknown */
export declare function open(key: Key): Opened;
export declare function close(ring: Ring): void;
/** A door that is open. */
interface Opened {
    /** A \`Hidden\` one. */
    readonly by: Key;
}
interface Hidden {
    readonly wood: Wood;
}
export {};
//# sourceMappingURL=door.d.ts.map`,
      'keys.d.ts': `/** A key. */
export type Key = {
    readonly teeth: number;
} | {
    readonly card: string;
};
export interface Ring {
    readonly keys: Key[];
}
//# sourceMappingURL=keys.d.ts.map`
    }
    assert.deepEqual(published(files, 'index.d.ts'), {
      'index.d.ts': `/** The exports. */
export { open } from './door.ts';
export type { Key as HouseKey } from './keys.ts';
`,
      'door.d.ts': `import { type Key } from './keys.ts';
/** Opens it. @see Unknown */
export declare function open(key: Key): Opened;
/** A door that is open. */
interface Opened {
    /** A \`Hidden\` one. */
    readonly by: Key;
}
export {};
`,
      'keys.d.ts': `/** A key. */
export type Key = {
    readonly teeth: number;
} | {
    readonly card: string;
};
`
    })
  })

  it('takes comments of the members of a union for parts of it', () => {
    const text = `/** A key. */
export type Key =
/** For doors. */
{
    readonly teeth: number;
}
/** For lifts. */
 | {
    readonly card: string;
};
`
    assert.deepEqual(published({ 'index.d.ts': text }, 'index.d.ts'), { 'index.d.ts': text })
  })

  it('keeps all forms of a function', () => {
    const text = `export declare function read(file: string): string;
export declare function read(file: number): number;
`
    assert.deepEqual(published({ 'index.d.ts': text }, 'index.d.ts'), { 'index.d.ts': text })
  })

  it('follows names through lists, whole modules, other names and types within types', () => {
    const files = {
      'index.d.ts': `export { a } from './list.ts';\nexport * from './whole.ts';\n`,
      'list.d.ts': `export * from './below/one.ts';\nexport * from './below/two.ts';\n`,
      'below/one.d.ts': `export declare const b: 1;\n`,
      'below/two.d.ts': `declare const inner: import("../deep.ts").Deep;\nexport { inner as a, inner as c };\nexport {};\n`,
      'deep.d.ts': `export interface Deep {\n}\nexport interface Deeper {\n}\n`,
      'whole.d.ts': `export declare class D {\n    #private;\n}\nexport interface E {\n}\n`
    }
    assert.deepEqual(published(files, 'index.d.ts'), {
      'index.d.ts': files['index.d.ts'],
      'list.d.ts': `export * from './below/two.ts';\n`,
      'below/two.d.ts': `declare const inner: import("../deep.ts").Deep;\nexport { inner as a };\nexport {};\n`,
      'deep.d.ts': `export interface Deep {\n}\n`,
      'whole.d.ts': files['whole.d.ts']
    })
  })

  it('keeps imports of other packages whose names are used, and those that a module needs as a whole', () => {
    const text = `import 'reflect-metadata';
import type { Elysia } from 'elysia';
import type pg from 'pg';
export declare function app(pool: pg.Pool): Elysia;
`
    const unused = `import { Observable } from 'rxjs';\nimport fc from 'fast-check';\n`
    assert.deepEqual(published({ 'index.d.ts': unused + text }, 'index.d.ts'), { 'index.d.ts': text })
  })

  it('shares a file between entries', () => {
    const files = {
      'one.d.ts': `export { A } from './both.ts';\n`,
      'two.d.ts': `export { B } from './both.ts';\n`,
      'both.d.ts': `export interface A {\n}\nexport interface B {\n}\n`
    }
    assert.deepEqual(published(files, 'one.d.ts', 'two.d.ts'), files)
  })

  it('fails for a name that is missing, and for a statement that it does not know', () => {
    assert.throws(
      () => published({ 'a.d.ts': `export { A } from './b.ts';`, 'b.d.ts': 'export {};' }, 'a.d.ts'),
      /b\.d\.ts does not export A/
    )
    assert.throws(() => published({ 'a.d.ts': `export = app;` }, 'a.d.ts'), /unknown kind: export = app/)
  })
})
