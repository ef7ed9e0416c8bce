import { Injectable, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common'

/** Stores the audit log: an entry for each action. */
@Injectable()
export class AuditLog implements OnModuleInit, OnApplicationShutdown {
  readonly lines: string[] = []

  onModuleInit(): void {
    console.log('audit log opened')
  }

  onApplicationShutdown(): void {
    console.log('audit log closed')
  }

  add(line: string): void {
    this.lines.push(line)
  }
}
