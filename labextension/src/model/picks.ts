import { ISignal, Signal } from '@lumino/signaling';

/** The attempts that a person has chosen to compare: at most two, of one paper. */
export class Picks {
  get changed(): ISignal<this, void> {
    return this._changed;
  }

  /** Paths, in the order in which they were chosen. */
  get paths(): readonly string[] {
    return this._paths;
  }

  has(path: string): boolean {
    return this._paths.includes(path);
  }

  /** Choose an attempt, or no longer. One of another paper begins anew; a third takes the place of the first. */
  toggle(path: string): void {
    if (this.has(path)) {
      this._paths = this._paths.filter(one => one !== path);
    } else {
      this._paths = [...this._paths.filter(one => paperOf(one) === paperOf(path)), path].slice(-2);
    }
    this._changed.emit();
  }

  clear(): void {
    this._paths = [];
    this._changed.emit();
  }

  private _paths: string[] = [];
  private _changed = new Signal<this, void>(this);
}

/** The paper of an attempt: `suite/paper` of `batch/suite/paper/agent/repeat`. */
export function paperOf(path: string): string {
  return path.split('/').slice(1, 3).join('/');
}
