"""Marshal mode in a running consumer: what is between brokers and the pure member.

- `backend`: How does a consumer join, commit, hand back and close in Marshal mode?
- `effects`: Which room does what the pure member (`kgroup.marshal`) asks for?
- `trace`: What does the journal get from each step of a member?

Before a member claims:

- `entrance`: What must hold before a member begins to claim?
- `topic_check`: Is the coordination topic fit for its purpose?
- `clock_check`: Does this process's clock agree with the brokers, where claims depend on it?

Reading and writing the log of claims:

- `coordination_topic`: What do metadata say of the coordination topic, and is it still the same?
- `log_reader`: How are the coordination partitions read to their ends, and on?
- `followed_log`: What is known of one coordination partition that is read, and what blocks it?
- `window`: Where does reading begin, so early that nothing before it can matter?
- `log_fetch`: What is the leader of a coordination partition asked?
- `appender`: In which order are messages written, and what if an answer is lost?

Positions:

- `start_positions`: At which offset does a claimed partition begin?
- `recalling`: What did the part of the log that was not read say of a position?
- `positions`: What is committed of any partition: by the log, else by the group coordinator?
- `offset_commits`: How are positions committed with the group coordinator, too?
"""
