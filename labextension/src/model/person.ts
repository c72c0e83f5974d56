import { IAttempt, IScale } from '../tokens';

/** The agent that is a person. */
export const HUMAN = 'human';

/** A person works on it now. */
export function isWorking(attempt: IAttempt | undefined): boolean {
  return attempt?.agent === HUMAN && attempt.state === 'running';
}

/** What a person who makes an attempt may see of a scale: what every agent is told, and no more. */
export function blind(scale: IScale): IScale {
  return { ...scale, strict: null, gold: null, siblings: [] };
}
