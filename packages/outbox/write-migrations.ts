/**
 * Writes the migrations as files, for tools that migrate with files. The build runs this after the bundler, which
 * empties `lib`.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { migrationFile } from './src/migrate.ts'
import { MIGRATIONS } from './src/migrations.ts'

mkdirSync('lib/migrations', { recursive: true })
for (const [index, { name }] of MIGRATIONS.entries())
  writeFileSync(`lib/migrations/${name}.sql`, migrationFile(index))
