// The moves of my_player. This is the file to change.

/**
 * Make a move: one of legalMoves, which is empty in a game that lists none.
 *
 * `call` is the message that asks for it: `game_type` says which game it is, `position` what there
 * is to see, `context.your_standings` how well it went so far, `deadline` until when. It may be
 * async.
 */
export function choose(legalMoves, call) {
  return legalMoves[Math.floor(Math.random() * legalMoves.length)];
}
